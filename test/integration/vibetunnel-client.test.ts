// A VibeTunnel v3 client works unchanged.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { ask } from "./harness/http.ts";
import { TestServer } from "./harness/test-server.ts";
import {
  decodeOldFrame,
  encodeOldFrame,
  oldScreenText,
  VibeTunnelClient,
} from "./harness/vibetunnel-client.ts";

/** The subscriptions of the official clients: the web's terminal, its previews, its global channel, and iOS. */
const WEB = 5;
const PREVIEW = 2;
const GLOBAL = 4;
const IOS = 6;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Like the web client: the command as an array, the folder as workingDir; the answer has a sessionId. */
async function start(command: readonly string[], more: object = {}): Promise<string> {
  const body = { command, workingDir: "/tmp", ...more };
  return (await ask(server.url, "/api/sessions", { body })).json.sessionId;
}

test("a create request with workingDir answers 200, and one with cwd 201", async () => {
  const create = (body: object) => ask(server.url, "/api/sessions", { body });
  const size = { cols: 100, rows: 30 };
  const old = await create({ command: ["cat"], workingDir: "/tmp", ...size });
  const own = await create({ command: ["cat"], cwd: "/tmp", ...size });
  expect([old.status, own.status]).toEqual([200, 201]);
  expect(old.json.sessionId).toBe(old.json.id);
  await server.client().resize(old.json.id, { cols: 90, rows: 20 });
  const initial = { cwd: "/tmp", initialCols: 100, initialRows: 30 };
  expect(await server.client().get(old.json.id)).toMatchObject({ ...initial, cols: 90, rows: 20 });
  expect(own.json).toMatchObject(initial);
  expect([old.json, own.json].some((record) => "cwdFallback" in record)).toBe(false);
});

test("a workingDir that does not exist falls back to home, which the record says; a cwd is refused", async () => {
  const create = (body: object) => ask(server.url, "/api/sessions", { body: { command: ["cat"], ...body } });
  const { cwd: home } = await server.client().create({ command: ["cat"] });
  const old = await create({ workingDir: "/no/such" });
  const record = Object(old.json);
  expect([old.status, record.cwd, record.cwdFallback]).toEqual([200, home, true]);
  expect(await server.client().get(record.id)).toMatchObject({ cwd: home, cwdFallback: true });
  const own = await create({ cwd: "/no/such" });
  expect([own.status, Object(own.json).code]).toEqual([400, "invalid_cwd"]);
});

test("the web's terminal gets the header, the history and what is live, types, presses keys and sees the exit", async () => {
  const id = await start([
    "sh",
    "-c",
    "stty -echo -icrnl; printf 'before \\342\\202\\254\\n'; head -c 9; exit 3",
  ]);
  await using early = await VibeTunnelClient.open(server.url);
  early.subscribe(id, WEB);
  await early.until(() => early.text(id).includes("before €\r\n"));
  await using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, WEB);
  await client.until(() => client.text(id) === "before €\r\n");
  expect(client.events(id)[0]).toMatchObject({
    kind: "header",
    header: { version: 2, width: 80, height: 24 },
  });
  client.type(id, "héy\n");
  client.press(id, "enter");
  client.press(id, "arrow_up");
  client.type(id, "\n");
  await client.until(() => client.exitCode(id) !== undefined);
  expect(client.exitCode(id)).toBe(3);
  expect(client.text(id)).toBe("before €\r\nhéy\r\n\r\x1b[A");
  expect(client.frames.at(-1)?.type).toBe(22);
  expect(client.dropped).toBe(1);
});

test("a client that waits for WELCOME in its own byte order before it sends anything gets it", async () => {
  await using client = await VibeTunnelClient.open(server.url);
  await client.until(() => client.of("WELCOME").length > 0);
  expect(client.of("WELCOME").map(({ payload }) => JSON.parse(payload.toString()))).toEqual([
    { ok: true, version: 3 },
  ]);
  expect(client.frames.length).toBe(1);
});

test("the web's terminal is resized, and the program with it", async () => {
  const id = await start([
    "sh",
    "-c",
    "trap 'stty size' WINCH; echo ready; while :; do sleep 60 & wait; done",
  ]);
  await using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, WEB);
  await client.until(() => client.text(id).includes("ready"));
  client.resize(id, 132, 43);
  await client.until(() => client.text(id).includes("43 132"));
  const resize = client.events(id).find(({ dimensions }) => dimensions === "132x43");
  expect(resize).toMatchObject({ kind: "resize", dimensions: "132x43" });
  client.kill(id, "SIGKILL");
  await client.until(() => client.exitCode(id) === 137);
});

test("the iOS client gets a screen at once, each change, and the exit", async () => {
  const id = await start([
    "sh",
    "-c",
    "stty -echo; printf '\\033]2;ready\\007'; read a; printf '\\033[1;31mred\\033[m 語\\n'; read b; exit 4",
  ]);
  await using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, IOS);
  await client.until(() => client.screen(id) !== undefined);
  expect(client.screen(id)).toMatchObject({ cols: 80, cursor: [0, 0] });
  // Earlier input would be echoed.
  const isReady = async () => (await server.client().get(id)).title === "ready" || undefined;
  await eventually(isReady, "the program's title");
  client.type(id, "\n");
  await client.until(() => oldScreenText(client.screen(id)).startsWith("red 語"));
  expect(client.screen(id)?.rows[0]?.slice(0, 5)).toEqual([
    { text: "r", attributes: 1, fg: 1 },
    { text: "e", attributes: 1, fg: 1 },
    { text: "d", attributes: 1, fg: 1 },
    { text: " ", attributes: 0 },
    { text: "語", attributes: 0 },
  ]);
  client.type(id, "\n");
  await client.until(() => client.exitCode(id) === 4);
  expect(client.of("STDOUT")).toEqual([]);
});

test("the web's previews and its global channel share one socket", async () => {
  await using client = await VibeTunnelClient.open(server.url);
  client.subscribe("", GLOBAL);
  await client.until(() => client.events("").some(({ type }) => type === "connected"));
  const ids = await Promise.all(
    ["one", "two", "three"].map((word) => start(["sh", "-c", `echo ${word}; read line`], { name: word })),
  );
  for (const id of ids) client.subscribe(id, PREVIEW);
  for (const [index, word] of ["one", "two", "three"].entries()) {
    await client.until(() => oldScreenText(client.screen(ids[index] ?? "")).includes(word));
  }
  for (const id of ids) {
    const start = client.events(id).find(({ type }) => type === "session-start");
    expect(start).toMatchObject({ sessionId: id });
    client.kill(id);
  }
  for (const id of ids) {
    await client.until(() =>
      client.events(id).some(({ type, timestamp }) => type === "session-exit" && timestamp),
    );
  }
  client.ping();
  await client.until(() => client.of("PONG").length > 0);
  expect(client.of("PONG")[0]).toEqual({ type: 41, sessionId: "", payload: Buffer.from("ping") });
});

test("POST /api/test-notification sends a test-notification event to the global channel, and to no other client", async () => {
  await using client = await VibeTunnelClient.open(server.url);
  await using deaf = await VibeTunnelClient.open(server.url);
  client.subscribe("", GLOBAL);
  await client.until(() => client.events("").length > 0);
  const { status, json } = await ask(server.url, "/api/test-notification", { method: "POST" });
  const { success, message, event } = json;
  expect([status, success, message]).toEqual([200, true, expect.stringContaining("1 of your clients")]);
  await client.until(() => client.events("test-session").length > 0);
  expect(client.events("test-session")).toEqual([event]);
  expect(event).toMatchObject({ type: "test-notification", sessionId: "test-session" });
  for (const member of ["timestamp", "sessionName", "message", "title", "body"])
    expect(event[member]).toEqual(expect.stringMatching(/./));
  deaf.ping();
  await deaf.until(() => deaf.of("PONG").length > 0);
  expect(deaf.of("EVENT")).toEqual([]);
});

test("failures are reported with a message", async () => {
  await using client = await VibeTunnelClient.open(server.url);
  client.subscribe("nobody", WEB);
  client.press("nobody", "no key");
  await client.until(() => client.of("ERROR").length === 2);
  for (const { payload, sessionId } of client.of("ERROR")) {
    expect(sessionId).toBe("nobody");
    expect(JSON.parse(payload.toString())).toMatchObject({ message: expect.stringMatching(/./) });
  }
});

test("after the server was killed it comes back by itself, and its terminal is whole again", async () => {
  await using other = await TestServer.start({ asProcess: true });
  const { id } = await other.client().create({ command: ["cat"] });
  await using client = await VibeTunnelClient.open(other.url);
  client.subscribe(id, WEB);
  client.subscribe("", GLOBAL);
  client.type(id, "first\n");
  await client.until(() => client.text(id) === "first\r\nfirst\r\n");
  await other.kill();
  client.frames.length = 0;
  await other.restart();
  await client.until(() => client.text(id) === "first\r\nfirst\r\n");
  client.type(id, "second\n");
  await client.until(() => client.text(id) === "first\r\nfirst\r\nsecond\r\nsecond\r\n");
  expect(client.events("").map(({ type }) => type)).toContain("connected");
  expect(client.connections).toBe(2);
});

test("the frames of the facts document are taken and sent byte by byte", async () => {
  const script = "stty raw -echo; head -c 3 | od -An -tx1; stty size; printf '\\303\\251\\r\\n'; read line";
  await server.client().create({ id: "s1", command: ["sh", "-c", script] });
  await using client = await VibeTunnelClient.open(server.url);
  client.sendBytes("54 56 03 28 00 00 00 00 00 00 00 00");
  client.sendBytes("54 56 03 0A 02 00 00 00 73 31 0C 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00");
  client.sendBytes("54 56 03 20 02 00 00 00 73 31 08 00 00 00 84 00 00 00 2B 00 00 00");
  client.sendBytes("54 56 03 1F 02 00 00 00 73 31 08 00 00 00 61 72 72 6F 77 5F 75 70");
  await client.until(() => client.text("s1").includes("é\r\n"));
  expect(client.of("PONG").length).toBe(1);
  expect(client.text("s1")).toMatch(/1b 5b 41\s+43 132\s+é\r\n$/);
  const vector = Buffer.from("54560314020000007331" + "04000000C3A90D0A", "hex");
  expect(decodeOldFrame(vector)).toEqual({ type: 20, sessionId: "s1", payload: Buffer.from("é\r\n") });
  expect(encodeOldFrame(20, "s1", Buffer.from("é\r\n"))).toEqual(vector);
});
