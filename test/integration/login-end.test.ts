// Sockets and streams end with their login (contract 5.3).
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { encodeFrame, FrameType } from "../../src/protocol/frame/frame.ts";
import { headOf } from "./harness/answer-head.ts";
import { bestTime } from "./harness/best-time.ts";
import { Follower } from "./harness/follower.ts";
import { openSocket } from "./harness/http.ts";
import { keepLogins, knownToken } from "./harness/known-logins.ts";
import {
  askAs,
  bearer,
  logIn,
  passwordServer,
  TOKEN_SECRET,
  ticketFor,
  USERNAME,
} from "./harness/password-server.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import type { TestServer } from "./harness/test-server.ts";

const LIMIT_MS = 1_000;

/** A client of /ws that has received WELCOME. */
async function connect(server: TestServer, proof: { token: string } | { ticket: string }) {
  const query = "ticket" in proof ? `?token=${proof.ticket}` : "";
  const headers = "token" in proof ? bearer(proof.token) : {};
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws${query}`, { headers });
  await withDeadline(once(socket, "message"), PATIENCE_MS, "the welcome");
  return Object.assign(socket, { [Symbol.dispose]: () => socket.terminate() });
}

/** The code and time in ms of the server's close. */
async function closeOf(socket: WebSocket) {
  const [code, reason] = await withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  return { code, reason: String(reason), at: Date.now() };
}

async function logOut(token: string, server: TestServer): Promise<void> {
  expect((await askAs(token, server, "/api/auth/logout", { method: "POST" })).status).toBe(200);
}

/** A session that echoes its input. */
async function startCat(token: string, server: TestServer): Promise<string> {
  const { json } = await askAs(token, server, "/api/sessions", { body: { command: ["cat"] } });
  return json.id;
}

/** One short binary message of a client; a mask of zeros masks nothing. */
function clientMessage(frame: Uint8Array): Uint8Array {
  return Uint8Array.from([0x82, 0x80 | frame.length, 0, 0, 0, 0, ...frame]);
}

test("a logout closes the sockets of that token within a second, and no other's", async () => {
  await using server = await passwordServer("inline");
  using ofAnother = await connect(server, { token: await logIn(server) });
  const closed = async (): Promise<number> => {
    const mine = await logIn(server);
    using byHeader = await connect(server, { token: mine });
    using byTicket = await connect(server, { ticket: await ticketFor(mine, server) });
    const closes = Promise.all([closeOf(byHeader), closeOf(byTicket)]);
    const started = Date.now();
    await logOut(mine, server);
    for (const { code, reason } of await closes) expect([code, reason]).toEqual([4401, "logged out"]);
    return Math.max(...(await closes).map(({ at }) => at - started));
  };
  expect(await bestTime(LIMIT_MS, closed)).toBeLessThan(LIMIT_MS);
  ofAnother.send(encodeFrame(FrameType.PING, "", new Uint8Array(4)));
  await withDeadline(once(ofAnother, "message"), PATIENCE_MS, "the answer to a PING");
});

test("a token that expires takes its sockets with it", async () => {
  const controlDir = await mkdtemp(join(tmpdir(), "ttyhq-"));
  await keepLogins(controlDir, [USERNAME]);
  const env = { TTYHQ_JWT_SECRET: TOKEN_SECRET };
  await using server = await passwordServer("inline", { controlDir, env });
  const missed = async (): Promise<number> => {
    const expiresAtS = Math.floor(Date.now() / 1000) + 8;
    const token = knownToken(USERNAME, { exp: expiresAtS });
    using socket = await connect(server, { token });
    const { code, reason, at } = await closeOf(socket);
    expect([code, reason]).toEqual([4401, "login expired"]);
    expect((await askAs(token, server, "/api/sessions")).json.error).toBe("token expired: log in again");
    return Math.abs(at - expiresAtS * 1000);
  };
  expect(await bestTime(LIMIT_MS, missed)).toBeLessThan(LIMIT_MS);
});

test("a client that ignores the close is cut off, and its frames are ignored meanwhile", async () => {
  await using server = await passwordServer("inline");
  const other = await logIn(server);
  const id = await startCat(other, server);
  using watching = server.connect(other);
  using follower = Follower.attach(watching, id);
  let round = 0;
  const cutOff = async (): Promise<number> => {
    round += 1;
    const mine = await logIn(server);
    const { socket } = await openSocket(server.url, "/ws", bearer(mine));
    if (socket === undefined) throw new Error("not let in");
    const type = (text: string) => {
      const frame = encodeFrame(FrameType.INPUT_TEXT, id, new TextEncoder().encode(text));
      socket.write(clientMessage(frame));
    };
    type(`before ${round}\n`);
    await follower.shows(new RegExp(`before ${round}`));
    // Input on an already cut connection is answered with a reset, which ends it, too.
    socket.on("error", () => undefined);
    const end = new Promise((resolve) => socket.resume().once("close", resolve));
    const started = Date.now();
    await logOut(mine, server);
    type("meanwhile\n");
    await withDeadline(end, PATIENCE_MS, "the end of the connection");
    return Date.now() - started;
  };
  expect(await bestTime(LIMIT_MS, cutOff)).toBeLessThan(LIMIT_MS);
  await watching.write(id, new TextEncoder().encode("after\n"));
  await follower.shows(/after/);
  expect(follower.text).not.toContain("meanwhile");
});

test.each(["stream", "recording"])("a %s ends with the login that opened it", async (view) => {
  await using server = await passwordServer("inline");
  const other = await logIn(server);
  const id = await startCat(other, server);
  const path = `/api/sessions/${id}/${view}`;
  const broken = async (): Promise<number> => {
    const mine = await logIn(server);
    const outgoing = request(`${server.url}${path}`, { agent: false, headers: bearer(mine) }).end();
    const response = await withDeadline(headOf(outgoing), PATIENCE_MS, "the answer");
    expect(response.statusCode).toBe(200);
    const end = once(response.resume(), "error");
    const started = Date.now();
    await logOut(mine, server);
    const error = await withDeadline(end, PATIENCE_MS, "the end of the stream");
    expect(error).toMatchObject([{ code: "ECONNRESET" }]);
    return Date.now() - started;
  };
  expect(await bestTime(LIMIT_MS, broken)).toBeLessThan(LIMIT_MS);
  expect((await askAs(other, server, `/api/sessions/${id}`)).json.status).toBe("running");
});
