// VibeTunnel's sockets from before /ws (facts 1.13): its last build on npm works unchanged.
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { decodeSnapshot } from "../../../src/web/previews/decode-snapshot.ts";
import { shakeHands } from "../harness/http.ts";
import { askAs, logIn, passwordServer, ticketFor } from "../harness/password-server.ts";
import { Rest } from "../harness/rest.ts";
import { TestServer } from "../harness/test-server.ts";

let server: TestServer;
let rest: Rest;
beforeAll(async () => {
  server = await TestServer.start();
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

/** Received messages, in order: JSON unchanged, a snapshot as the rows of its screen. */
class OlderSocket implements Disposable {
  readonly #socket: WebSocket;
  readonly #messages: unknown[] = [];

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer, isBinary: boolean) =>
      this.#messages.push(isBinary ? snapshotOf(data) : JSON.parse(`${data}`)),
    );
  }

  static async open(path: string): Promise<OlderSocket> {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}${path}`);
    const opened = new OlderSocket(socket);
    await once(socket, "open");
    return opened;
  }

  send(message: string | object): void {
    this.#socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  async gets(message: unknown): Promise<void> {
    await expect.poll(() => this.#messages).toContainEqual(message);
  }

  async closed(): Promise<number> {
    const [code] = await once(this.#socket, "close");
    return code;
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

function snapshotOf(message: Buffer): { readonly id: string; readonly text: string } {
  expect(message[0]).toBe(0xbf);
  const start = 5 + message.readUInt32LE(1);
  const { rows } = decodeSnapshot(message.subarray(start));
  const screen = rows.map((cells) => cells.map(({ text }) => text).join("")).join("\n");
  return { id: message.toString("utf8", 5, start), text: screen };
}

const showing = (id: string, text: string) => ({ id, text: expect.stringContaining(text) });

test("/buffers greets, confirms a subscription, and sends the screen at once and whenever it changes", async () => {
  const { id } = await rest.run("stty -echo; echo first; read line; echo got-$line; cat");
  await rest.shows(id, /first/);
  using buffers = await OlderSocket.open("/buffers");
  await buffers.gets({ type: "connected", version: "1.0" });
  buffers.send({ type: "subscribe", sessionId: id });
  await buffers.gets({ type: "subscribed", sessionId: id });
  await buffers.gets(showing(id, "first"));
  await rest.api.post(`/api/sessions/${id}/input`).send({ text: "it\r" }).expect(200);
  await buffers.gets(showing(id, "got-it"));
  buffers.send({ type: "ping" });
  await buffers.gets({ type: "pong", timestamp: expect.any(Number) });
});

test("/buffers tells what is wrong, and ends a client that sends nothing else", async () => {
  using buffers = await OlderSocket.open("/buffers");
  buffers.send({ type: "subscribe", sessionId: "nobody" });
  await buffers.gets(expect.objectContaining({ type: "error", code: "session_not_found" }));
  const closed = buffers.closed();
  for (let round = 0; round < 16; round++) buffers.send(round % 2 === 0 ? "no json" : { type: "nothing" });
  await buffers.gets(expect.objectContaining({ type: "error", code: "bad_frame" }));
  expect(await closed).toBe(1002);
});

test("/ws/input types text, and presses the key whose name stands between two NUL", async () => {
  const { id } = await rest.run("stty raw -echo; echo ready; head -c 5 | od -An -tx1; cat");
  await rest.shows(id, /ready/);
  using input = await OlderSocket.open(`/ws/input?sessionId=${id}`);
  input.send("é");
  input.send("\0arrow_up\0");
  await rest.shows(id, /c3 a9 1b 5b 41/);
});

test("/ws/input without a session is refused", async () => {
  const answer = await shakeHands(server.url, "/ws/input");
  expect([answer.status, answer.json.code]).toEqual([400, "invalid_request"]);
});

test("both ask for the same login as /ws", async () => {
  await using guarded = await passwordServer("inline");
  const token = await logIn(guarded);
  const { json } = await askAs(token, guarded, "/api/sessions", { body: { command: ["cat"] } });
  for (const path of ["/buffers?", `/ws/input?sessionId=${json.id}&`]) {
    expect((await shakeHands(guarded.url, path)).status).toBe(401);
    expect((await shakeHands(guarded.url, `${path}token=${token}`)).status).toBe(101);
    expect((await shakeHands(guarded.url, `${path}token=${await ticketFor(token, guarded)}`)).status).toBe(
      101,
    );
  }
});
