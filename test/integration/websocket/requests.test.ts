// Contract 1.3, 1.6 and 1.10: input, keys, sizes, signals, and their order.
import { afterAll, beforeAll, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** A session that echoes every byte unchanged, and a client that follows it. */
async function mirror(): Promise<{ readonly id: string; readonly socket: RawSocket }> {
  const { id } = await server
    .client()
    .create({ command: ["sh", "-c", "stty raw -echo; printf ready; exec cat"] });
  const socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout | Events | Offsets });
  await socket.shows(/ready/);
  return { id, socket };
}

test("input of any bytes reaches the program as it is, also a message of the largest size", async () => {
  const { id, socket } = await mirror();
  await using _socket = socket;
  const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const large = new Uint8Array(1024 * 1024 - 12 - id.length).fill(120);
  socket.send(FrameType.INPUT_TEXT, id, every);
  socket.send(FrameType.INPUT_TEXT, id, large);
  socket.send(FrameType.INPUT_TEXT, id, new Uint8Array());
  const wanted = "ready".length + every.length + large.length;
  await socket.bytes(wanted);
  const echo = socket.output().subarray("ready".length);
  expect(Buffer.compare(echo.subarray(0, 256), every)).toBe(0);
  expect(Buffer.compare(echo.subarray(256), large)).toBe(0);
});

test("the 28 keys reach the program as the bytes of the table", async () => {
  const { id, socket } = await mirror();
  await using _socket = socket;
  // Facts 1.10.
  const keys = {
    ...{ arrow_up: "1b5b41", arrow_down: "1b5b42", arrow_right: "1b5b43", arrow_left: "1b5b44" },
    ...{ escape: "1b", enter: "0d", ctrl_enter: "0a", shift_enter: "0d0a", backspace: "7f", tab: "09" },
    ...{ shift_tab: "1b5b5a", home: "1b5b48", end: "1b5b46", delete: "1b5b337e" },
    ...{ page_up: "1b5b357e", page_down: "1b5b367e", f1: "1b4f50", f2: "1b4f51", f3: "1b4f52", f4: "1b4f53" },
    ...{ f5: "1b5b31357e", f6: "1b5b31377e", f7: "1b5b31387e", f8: "1b5b31397e", f9: "1b5b32307e" },
    ...{ f10: "1b5b32317e", f11: "1b5b32337e", f12: "1b5b32347e" },
  };
  expect(Object.keys(keys).length).toBe(28);
  for (const name of Object.keys(keys)) {
    socket.send(FrameType.INPUT_KEY, id, name);
    socket.type(id, "|");
  }
  const shown = await socket.shows(/ready((?:[^|]*\|){28})/s);
  const hex = (shown[1] ?? "").split("|").map((bytes) => Buffer.from(bytes, "latin1").toString("hex"));
  expect(hex.slice(0, 28)).toEqual(Object.values(keys));
});

test("frames are handled in the order in which they came, whatever is between them", async () => {
  const { id, socket } = await mirror();
  await using _socket = socket;
  const other = await server.client().create({ command: ["cat"] });
  const letters = Array.from({ length: 500 }, (_, index) => `${index},`);
  for (const [index, text] of letters.entries()) {
    socket.type(id, text);
    if (index % 10 === 0) socket.subscribe(other.id, { flags: index % 16 });
    if (index % 20 === 0) socket.send(FrameType.UNSUBSCRIBE, other.id);
    if (index % 30 === 0) socket.send(FrameType.PING, "", `${index}`);
    if (index % 50 === 0) socket.send(FrameType.RESIZE, id, encodeSize({ cols: 80 + index / 50, rows: 24 }));
  }
  await socket.settled();
  await socket.shows(/499,/);
  expect(textOf(socket.output(id))).toBe(`ready${letters.join("")}`);
  const pongs = socket.of(FrameType.PONG).map(({ payload }) => textOf(payload));
  expect(pongs.slice(0, -1)).toEqual(Array.from({ length: 17 }, (_, index) => `${index * 30}`));
  const sizes = socket.jsons(FrameType.EVENT, id).filter(({ kind }) => kind === "resize");
  expect(sizes.map(({ cols }) => cols).slice(-9)).toEqual([81, 82, 83, 84, 85, 86, 87, 88, 89]);
});

test("a PONG follows the processing of all commands before its PING, and their errors", async () => {
  const { id, socket } = await mirror();
  await using _socket = socket;
  const client = server.client();
  for (let cols = 100; cols < 120; cols++) {
    socket.send(FrameType.RESIZE, id, encodeSize({ cols, rows: 10 }));
    socket.type("nobody", "x");
    socket.send(FrameType.PING, "", `${cols}`);
    await socket.frame(FrameType.PONG, ({ payload }) => textOf(payload) === `${cols}`);
    expect(socket.of(FrameType.ERROR).length).toBe(cols - 99);
    expect(await client.get(id)).toMatchObject({ cols, rows: 10 });
  }
});

test("a size reaches the program, and every client of the session is told", async () => {
  const script = "trap 'stty size' WINCH; printf ready; while :; do sleep 60 & wait; done";
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  await using socket = await RawSocket.open(server.url);
  await using watching = await RawSocket.open(server.url);
  for (const { flags, client } of [
    { flags: Stdout | Events, client: socket },
    { flags: Events, client: watching },
  ]) {
    client.subscribe(id, { flags });
    await client.settled();
  }
  await socket.shows(/ready/);
  socket.send(FrameType.RESIZE, id, encodeSize({ cols: 132, rows: 43 }));
  await socket.shows(/43 132\r\n/);
  for (const client of [socket, watching]) {
    const event = await client.json(FrameType.EVENT, ({ dimensions }) => dimensions === "132x43");
    expect(event).toEqual({ kind: "resize", dimensions: "132x43", cols: 132, rows: 43 });
  }
});

test("signals come by name, by number, and SIGTERM where none is named", async () => {
  for (const [asked, exitCode, signal] of [
    ["SIGINT", 130, "SIGINT"],
    ["2", 130, "SIGINT"],
    ["SIGHUP", 129, "SIGHUP"],
    ["9", 137, "SIGKILL"],
    ["SIGQUIT", 131, "SIGQUIT"],
    ["", 143, "SIGTERM"],
    ["15", 143, "SIGTERM"],
  ] as const) {
    const { id } = await server.client().create({ command: ["sleep", "60"] });
    await using socket = await RawSocket.open(server.url);
    socket.subscribe(id, { flags: 0 });
    socket.send(FrameType.KILL, id, asked);
    const expected = { kind: "exit", type: "session-exit", sessionId: id, exitCode, signal };
    expect(await socket.event("exit")).toEqual(expected);
  }
});

test("a signal reaches the program in the foreground, and leaves a shell that ignores it", async () => {
  const script = "trap 'echo got it' USR1; printf ready; while :; do sleep 60 & wait; done";
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout });
  await socket.shows(/ready/);
  socket.send(FrameType.KILL, id, "SIGUSR1");
  await socket.shows(/got it/);
  expect(await server.client().get(id)).toMatchObject({ status: "running" });
});

test("nothing comes after UNSUBSCRIBE, and other sessions of the connection go on", async () => {
  const { id, socket } = await mirror();
  await using _socket = socket;
  const { id: other } = await server.client().create({ command: ["cat"] });
  socket.subscribe(other, { flags: Stdout | Offsets });
  socket.send(FrameType.UNSUBSCRIBE, id);
  socket.send(FrameType.UNSUBSCRIBE, "nobody");
  await socket.settled();
  const before = socket.output(id).length;
  socket.type(id, "unseen");
  socket.type(other, "seen\n");
  await socket.shows(/seen\r\nseen/);
  await socket.settled();
  expect(socket.output(id).length).toBe(before);
  expect(socket.of(FrameType.ERROR)).toEqual([]);
});
