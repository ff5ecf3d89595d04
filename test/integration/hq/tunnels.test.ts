// Remotes that dial their HQ (--hq-dial): who may open a tunnel, and who gets in through it.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { MAX_MESSAGE_BYTES } from "../../../src/protocol/limits.ts";
import { DIALLED_URL, tunnelPath } from "../../../src/protocol/schemas/remote.ts";
import { asAdmin, HandmadeRemote, startHq } from "../harness/handmade-remote.ts";
import { ask, openSocket, shakeHands } from "../harness/http.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { basic, metric, TestFleet } from "../harness/test-fleet.ts";
import type { TestServer } from "../harness/test-server.ts";

const DIALLED = { url: DIALLED_URL };

describe("a tunnel", () => {
  let hq: TestServer;
  let victim: HandmadeRemote;
  let attacker: HandmadeRemote;
  beforeAll(async () => {
    hq = await startHq();
    victim = await HandmadeRemote.join(hq, "victim");
    attacker = await HandmadeRemote.join(hq, "attacker");
    expect((await victim.register(hq, DIALLED)).status).toBe(200);
    expect((await attacker.register(hq, DIALLED)).status).toBe(200);
  });
  afterAll(async () => {
    await victim[Symbol.asyncDispose]();
    await attacker[Symbol.asyncDispose]();
    await hq[Symbol.asyncDispose]();
  });

  /** A tunnel of the victim, until the HQ closes it: resolves with the code. */
  async function opened(): Promise<{ readonly socket: WebSocket; readonly closed: Promise<number> }> {
    const socket = new WebSocket(`${hq.url}${tunnelPath(victim.id)}`, { headers: victim.headers });
    const closed = once(socket, "close").then(([code]) => code);
    await once(socket, "open");
    return { socket, closed: withDeadline(closed, PATIENCE_MS, "the end of the tunnel") };
  }

  test("opens for the credential of its remote", async () => {
    expect((await victim.tunnel(hq)).status).toBe(101);
  });

  test("opens neither without a credential nor for another remote's, a password's or a made-up one", async () => {
    const path = tunnelPath(victim.id);
    const answers = await Promise.all([
      shakeHands(hq.url, path),
      shakeHands(hq.url, path, { authorization: "Bearer made.up.token" }),
      shakeHands(hq.url, `${path}?token=${victim.headers.authorization?.slice("Bearer ".length)}`),
      attacker.tunnel(hq, victim.id),
      shakeHands(hq.url, path, { authorization: basic() }),
    ]);
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
      ...[1, 2, 3].map(() => [401, "unauthorized"]),
      ...[1, 2].map(() => [403, "forbidden"]),
    ]);
  });

  test("opens for no page of another site", async () => {
    const { json } = await shakeHands(hq.url, tunnelPath(victim.id), {
      ...victim.headers,
      origin: "https://evil.example",
    });
    expect(json.code).toBe("origin_not_allowed");
  });

  test("opens for no remote that is not registered, or has an address", async () => {
    await using stranger = await HandmadeRemote.join(hq, "stranger");
    expect(await stranger.tunnel(hq)).toMatchObject({ status: 404, json: { code: "remote_not_found" } });
    expect((await stranger.register(hq)).status).toBe(200);
    expect(await stranger.tunnel(hq)).toMatchObject({ status: 404, json: { code: "remote_not_found" } });
  });

  test("ends when its remote's key is revoked, whose credential opens no other", async () => {
    await using revoked = await HandmadeRemote.join(hq, "revoked");
    expect((await revoked.register(hq, DIALLED)).status).toBe(200);
    const { socket } = await openSocket(hq.url, tunnelPath(revoked.id), revoked.headers);
    const closed = withDeadline(once(socket ?? process, "close"), PATIENCE_MS, "the end of the tunnel");
    socket?.on("error", () => {}).resume();
    await asAdmin(hq, "/api/remotes/keys/revoked", { method: "DELETE" });
    await closed;
    expect(await revoked.tunnel(hq)).toMatchObject({ status: 403, json: { code: "forbidden" } });
  });

  test("takes the place of the earlier one of its remote, and ends with its registration", async () => {
    const first = await opened();
    const second = await opened();
    await first.closed;
    expect(second.socket.readyState).toBe(WebSocket.OPEN);
    expect((await victim.ask(hq, `/api/remotes/${victim.id}`, { method: "DELETE" })).status).toBe(200);
    await second.closed;
    expect((await victim.register(hq, DIALLED)).status).toBe(200);
  });

  test.each([
    ["oversized messages", Buffer.alloc(MAX_MESSAGE_BYTES + 1)],
    ["bytes that are no message of a tunnel", Buffer.from("GET / HTTP/1.1\r\n\r\n".repeat(100))],
  ])("ends after %s, and the HQ goes on", async (_, message) => {
    const { socket, closed } = await opened();
    socket.send(message);
    await closed;
    expect((await asAdmin(hq, "/api/remotes")).status).toBe(200);
    expect((await victim.tunnel(hq)).status).toBe(101);
  });
});

test("nobody but the HQ gets in through the tunnel, not even as a user of this machine", async () => {
  await using fleet = await TestFleet.start({ dials: true, remotes: 0 });
  await using open = await fleet.add("open", { args: ["--no-auth"] });
  await using bypassing = await fleet.add("bypassing", { args: ["--allow-local-bypass"] });
  await fleet.joined("open", "bypassing");
  for (const remote of [open, bypassing]) {
    const socketPath = join(remote.controlDir, "tunnel.sock");
    for (const headers of [
      {},
      { host: "localhost" },
      { host: "127.0.0.1", "x-forwarded-for": "127.0.0.1" },
      { "proxy-user-login": "root" },
      { authorization: "Bearer guessed" },
      { "ttyhq-caller": encodeURIComponent(JSON.stringify({ user: "root", seesAll: true })) },
      { "ttyhq-on-behalf-of": "root" },
    ]) {
      const answer = await ask("http://localhost", "/api/sessions", { socketPath, headers });
      expect([answer.status, answer.json.code]).toEqual([401, "unauthorized"]);
    }
  }
});

test("the audit log has the HQ's actions through the tunnel as the HQ's, without an address", async () => {
  await using fleet = await TestFleet.start({ dials: true });
  const { id } = await fleet.create("worker-1", { command: ["cat"] });
  const path = join(fleet.remote("worker-1").controlDir, "audit.log");
  const line = await eventually(async () => {
    const lines = (await readFile(path, "utf8")).split("\n");
    return lines.find((each) => each.includes('"session.create"'));
  }, "the session in the audit log");
  expect(JSON.parse(line)).toMatchObject({ session: id, method: "hq", result: "ok" });
  expect(JSON.parse(line)).not.toHaveProperty("address");
});

test("a remote that dials says where it is, and its HQ reaches it through one connection", async () => {
  await using fleet = await TestFleet.start({ dials: true });
  expect((await fleet.record("worker-1")).url).toBe(DIALLED_URL);
  const health = await fleet.ask("/api/remotes/worker-1/proxy/api/health");
  expect(health).toMatchObject({ status: 200, json: { mode: "remote" } });
  await expect.poll(() => metric(fleet.hq, "ttyhq_uplinks")).toBe(1);
});

test("an HQ that shares its registry takes no remote that dials, and says so", async () => {
  await using redis = await RedisServer.start();
  const secret = { TTYHQ_JWT_SECRET: "a secret of at least 32 bytes, as it were" };
  await using hq = await startHq(["--registry-url", redis.url], secret);
  await using remote = await HandmadeRemote.join(hq, "worker");
  const { status, json } = await remote.register(hq, DIALLED);
  expect([status, json.code]).toEqual([400, "invalid_request"]);
  expect(json.error).toContain("--hq-dial");
});
