// Contract 1.1, 1.2, 1.5 and 1.6: valid frames, and the handling of invalid ones.
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSubscribe, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { ask } from "../harness/http.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

const MIB = 1024 * 1024;
const { Stdout, Events, Offsets } = SubscribeFlag;
const u32 = (...values: readonly number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function echo(): Promise<string> {
  const { id } = await server.client().create({ command: ["cat"] });
  return id;
}

test("WELCOME is the first frame, before anything was sent, in both byte orders: VT first", async () => {
  await using socket = await RawSocket.open(server.url);
  await socket.until(() => socket.frames[1], "two frames");
  const told = socket.frames.map(({ magic, type, payload }) => [magic, type, textOf(payload)]);
  const welcome = [FrameType.WELCOME, '{"ok":true,"version":3}'];
  expect(told).toEqual([
    ["VT", ...welcome],
    ["TV", ...welcome],
  ]);
});

test("a client that listens only once its socket is open still reads WELCOME", async () => {
  // A client that is suspended for 10 ms at that moment misses it, as may happen on a busy machine.
  const welcome = await eventually(async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
    using stack = new DisposableStack();
    stack.defer(() => socket.terminate());
    await once(socket, "open");
    const [message] = await once(socket, "message", { signal: AbortSignal.timeout(1_000) });
    return decodeFrame(message);
  }, "WELCOME");
  expect(welcome).toMatchObject({ type: FrameType.WELCOME, magic: "VT" });
});

test("RESET_SIZE for an unknown session is session_not_found, for one that is there invalid_request", async () => {
  await using socket = await RawSocket.open(server.url);
  for (const [id, code] of [
    ["nobody", "session_not_found"],
    ["no!id", "session_not_found"],
    [await echo(), "invalid_request"],
  ] as const) {
    socket.send(FrameType.RESET_SIZE, id);
    expect(await socket.errorCode()).toBe(code);
  }
});

test("both byte orders of the magic are taken, and answered in that of the first valid frame", async () => {
  const [old, ours] = [await echo(), await echo()];
  for (const magic of ["TV", "VT"] as const) {
    await using socket = await RawSocket.open(server.url, { magic });
    socket.sendBytes(new Uint8Array([0x54, 0x56, 9]));
    expect(await socket.errorCode()).toBe("bad_frame");
    const early = socket.frames.length;
    socket.subscribe(old, { flags: 7 });
    socket.subscribe(ours, { flags: 15 });
    socket.subscribe("", { flags: Events });
    socket.magic = magic === "TV" ? "VT" : "TV";
    socket.type(old, "x");
    socket.type(ours, "x");
    socket.send(99);
    const types = [12, 20, 21, 22, 23, 24, 41];
    const all = socket.until(
      () => (types.every((type) => socket.of(type).length > 0) ? true : undefined),
      "every type of frame",
    );
    socket.send(FrameType.PING);
    await all;
    expect(socket.frames.slice(0, early).map((frame) => frame.magic)).toEqual(["VT", "TV", "VT"]);
    expect(new Set(socket.frames.slice(early).map((frame) => frame.magic))).toEqual(new Set([magic]));
  }
});

test("bytes after the payload are ignored", async () => {
  await using socket = await RawSocket.open(server.url);
  const frame = encodeFrame(FrameType.PING, "", new Uint8Array([1, 2]));
  const longer = new Uint8Array(frame.length + 5).fill(255);
  longer.set(frame);
  socket.sendBytes(longer);
  expect((await socket.frame(FrameType.PONG)).payload).toEqual(new Uint8Array([1, 2]));
});

test("every kind of bad frame gets an ERROR, and the connection stays", async () => {
  await using socket = await RawSocket.open(server.url);
  const good = encodeFrame(FrameType.PING, "s", new Uint8Array(3));
  const changed = (at: number, value: number): Uint8Array => {
    const copy = Uint8Array.from(good);
    copy[at] = value;
    return copy;
  };
  const bad = [
    new Uint8Array(),
    good.subarray(0, 11),
    good.subarray(0, good.length - 1),
    changed(0, 0),
    changed(1, 0x56),
    changed(2, 2),
    changed(2, 4),
    changed(4, 200),
    changed(7, 255),
    changed(9, 4),
    changed(12, 128),
    changed(8, 0xff),
    encodeFrame(FrameType.PING, "x".repeat(256), new Uint8Array()).map((byte, at) => (at === 4 ? 1 : byte)),
  ];
  for (const message of bad) {
    socket.sendBytes(message);
    expect(await socket.errorCode()).toBe("bad_frame");
  }
  await socket.settled();
});

test("sixteen bad frames in a row close with 1002; a good one in between starts the count anew", async () => {
  await using socket = await RawSocket.open(server.url);
  for (let i = 0; i < 15; i++) socket.sendBytes(new Uint8Array(i));
  await socket.settled();
  for (let i = 0; i < 16; i++) socket.sendBytes(new Uint8Array(i));
  expect((await socket.closed()).code).toBe(1002);
  expect(socket.of(FrameType.ERROR).length).toBe(31);
});

test("a text message gets ERROR binary_only, an unknown type unknown_type", async () => {
  await using socket = await RawSocket.open(server.url);
  socket.sendText("hello");
  expect(await socket.errorCode()).toBe("binary_only");
  for (const type of [0, 3, 12, 20, 24, 29, 41, 42, 255]) {
    socket.send(type, "s", new Uint8Array(20));
    expect(await socket.errorCode()).toBe("unknown_type");
  }
  await socket.settled();
});

test("a message of 1 MiB is taken, a longer one closes with 1009", async () => {
  await using socket = await RawSocket.open(server.url);
  socket.send(FrameType.PING, "", new Uint8Array(MIB - 12));
  expect((await socket.frame(FrameType.PONG)).payload.length).toBe(MIB - 12);
  socket.sendBytes(encodeFrame(FrameType.PING, "", new Uint8Array(MIB - 11)));
  expect((await socket.closed()).code).toBe(1009);
});

test("session ids that are none are unknown sessions, whatever they look like", async () => {
  await using socket = await RawSocket.open(server.url);
  const ids = [
    "..",
    "../x",
    "a/b",
    "a\0b",
    "%2e%2e",
    "x".repeat(65),
    "é",
    "😀".repeat(64),
    "a b",
    "\x1b[2J",
    "__proto__",
  ];
  const frames = [
    [FrameType.SUBSCRIBE, encodeSubscribe({ flags: Stdout })],
    [FrameType.SUBSCRIBE, encodeSubscribe({ flags: 0 })],
    [FrameType.SUBSCRIBE, encodeSubscribe({ flags: Stdout | Offsets, from: 7 })],
    [FrameType.INPUT_TEXT, new Uint8Array([65])],
    [FrameType.INPUT_KEY, new TextEncoder().encode("enter")],
    [FrameType.RESIZE, u32(80, 24)],
    [FrameType.KILL, new Uint8Array()],
  ] as const;
  for (const id of ids) {
    for (const [type, payload] of frames) {
      socket.send(type, id, payload);
      expect(await socket.errorCode()).toBe("session_not_found");
      expect(socket.of(FrameType.ERROR).at(-1)?.sessionId).toBe(id);
    }
    socket.send(FrameType.UNSUBSCRIBE, id);
  }
  await socket.settled();
  expect(socket.of(FrameType.SUBSCRIBED)).toEqual([]);
});

test("frames that need a session and name none say so", async () => {
  await using socket = await RawSocket.open(server.url);
  const named = {
    INPUT_TEXT: "x",
    INPUT_KEY: "enter",
    RESIZE: u32(80, 24),
    KILL: "",
    RESET_SIZE: "",
  } as const;
  for (const [name, payload] of Object.entries(named)) {
    socket.send(FrameType[name as keyof typeof named], "", payload);
    const { message } = await socket.json(FrameType.ERROR, (error) => String(error.message).includes(name));
    expect(message).toBe(`Missing sessionId for ${name}`);
  }
});

test("sizes, signals, keys and payloads that are none are refused, and change nothing", async () => {
  const id = await echo();
  await using socket = await RawSocket.open(server.url);
  const refused = [
    ...[u32(0, 24), u32(80, 0), u32(1001, 24), u32(80, 1001), u32(0xffff_ffff, 24), u32(80)].map(
      (payload) => [FrameType.RESIZE, payload] as const,
    ),
    ...["SIGSEGV", "sigterm", "TERM", "0", "99", "-9", "9x", "__proto__", " "].map(
      (signal) => [FrameType.KILL, signal] as const,
    ),
    ...["", "Enter", "ctrl_c", "toString", "f13", "arrow_up\0"].map(
      (key) => [FrameType.INPUT_KEY, key] as const,
    ),
    [FrameType.INPUT_KEY, new Uint8Array([0xff])] as const,
    [FrameType.KILL, new Uint8Array([0xff])] as const,
    [FrameType.SUBSCRIBE, new Uint8Array(11)] as const,
    [FrameType.SUBSCRIBE, u32(Offsets | Stdout, 0, 0, 0, 0x20_0000)] as const,
    [FrameType.RESET_SIZE, ""] as const,
    [FrameType.HELLO, "{}"] as const,
    [FrameType.HELLO, '{"client":5}'] as const,
  ];
  for (const [type, payload] of refused) {
    socket.send(type, id, payload);
    expect([type, await socket.errorCode()]).toEqual([type, "invalid_request"]);
  }
  expect(await server.client().get(id)).toMatchObject({
    status: "running",
    cols: 80,
    rows: 24,
    outputBytes: 0,
  });
});

test("every request to an unknown or an ended session gets an ERROR", async () => {
  const { id } = await server.client().create({ command: ["true"] });
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: 0 });
  await socket.event("exit");
  for (const [session, code] of [
    [id, "session_not_running"],
    ["nobody", "session_not_found"],
  ] as const) {
    socket.type(session, "x");
    expect(await socket.errorCode()).toBe(code);
    socket.send(FrameType.INPUT_KEY, session, "enter");
    expect(await socket.errorCode()).toBe(code);
    socket.send(FrameType.RESIZE, session, u32(80, 24));
    expect(await socket.errorCode()).toBe(code);
    socket.send(FrameType.KILL, session, "SIGKILL");
    expect(await socket.errorCode()).toBe(code);
  }
  socket.subscribe("nobody", { flags: Events });
  expect(await socket.errorCode()).toBe("session_not_found");
});

test("a client is known by its HELLO", async () => {
  await using socket = await RawSocket.open(server.url);
  socket.send(FrameType.HELLO, "", '{"client":"a test","version":"7"}');
  await socket.settled();
  expect((await ask(server.url, "/api/clients")).json).toEqual(
    expect.arrayContaining([expect.objectContaining({ client: "a test", version: "7" })]),
  );
});
