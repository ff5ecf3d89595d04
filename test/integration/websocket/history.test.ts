// Contract 1.7: the history of a client without the flag Offsets, such as VibeTunnel's clients.
import { afterAll, beforeAll, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

const { Stdout, Snapshots, Events } = SubscribeFlag;
const MIB = 1024 * 1024;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Runs a shell script in an unchanged terminal, and waits until it has printed that it is ready. */
async function session(script: string): Promise<string> {
  const command = ["sh", "-c", `stty raw -echo; ${script}; printf ready; exec cat`];
  const { id } = await server.client().create({ command });
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout });
  // Not at the end: after a megabyte a viewer gets a drawing, which ends with the pen and the cursor.
  await socket.shows(/ready/);
  return id;
}

async function view(id: string, flags: number = Stdout): Promise<RawSocket> {
  const socket = await RawSocket.open(server.url, { magic: "TV" });
  socket.subscribe(id, { flags });
  await socket.shows(/ready$/);
  return socket;
}

test("a short history comes whole, then what is live", async () => {
  const id = await session("printf 'a line\\r\\n'");
  await using socket = await view(id);
  socket.type(id, "live");
  await socket.shows(/live/);
  expect(textOf(socket.output())).toBe("a line\r\nreadylive");
});

test("history begins at the last clear of the screen, with the sequence itself", async () => {
  const clears = [
    "\\033[2J",
    "\\033[3J",
    "\\033[H\\033[2J\\033[3J",
    "\\033[2J\\033[H",
    "\\033c",
    "\\033[?1049l",
  ];
  for (const clear of clears) {
    const id = await session(`printf 'before\\033[2Jbetween${clear}after'`);
    await using socket = await view(id);
    const sequence = clear.replaceAll("\\033", "\x1b");
    expect(textOf(socket.output())).toBe(`${sequence}afterready`);
  }
});

test("the alternate screen counts as a clear, and the modes that were set before it are set again", async () => {
  const id = await session("printf 'shell\\033[?2004h\\033[?1h\\033[?1l\\033[?25l\\033[?1049hfull screen'");
  await using socket = await view(id);
  expect(textOf(socket.output())).toBe("\x1b[?2004h\x1b[?1l\x1b[?25l\x1b[?1049hfull screenready");
});

test("a session that never cleared 1 MiB of output is drawn: a reset and its screen", async () => {
  const id = await session("seq 1 300000; printf '\\033[1mbold'");
  await using socket = await RawSocket.open(server.url, { magic: "TV" });
  socket.subscribe(id, { flags: Stdout });
  await socket.shows(/ready/);
  const [first] = socket.of(FrameType.STDOUT);
  expect(textOf(first?.payload.subarray(0, 2) ?? new Uint8Array())).toBe("\x1bc");
  expect(socket.outputBytes).toBeLessThan(MIB);
  expect(textOf(socket.output())).toContain("299999");
  socket.type(id, "live");
  await socket.shows(/live$/);
});

test("a clear within the last MiB is found, however much came before it", async () => {
  const id = await session("seq 1 300000; printf '\\033[2Jafter'; seq 1 1000");
  await using socket = await view(id);
  expect(textOf(socket.output()).slice(0, 9)).toBe("\x1b[2Jafter");
});

test("no UTF-8 character is split over two frames, neither of the past nor live", async () => {
  const id = await session("for i in $(seq 4000); do printf 'aé€😀'; done");
  await using socket = await view(id);
  const bytes = new TextEncoder().encode("é€😀".repeat(20));
  for (const byte of bytes) {
    socket.send(FrameType.INPUT_TEXT, id, new Uint8Array([byte]));
    await socket.settled();
  }
  await socket.bytes(40_000 + "ready".length + bytes.length);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const texts = socket.of(FrameType.STDOUT).map(({ payload }) => decoder.decode(payload));
  expect(texts.join("")).toBe(`${"aé€😀".repeat(4000)}ready${"é€😀".repeat(20)}`);
});

/** A viewer that joins after a session has shown "first", then `second` at 100x30, and "third" at 90x20. */
async function resizedTwice(second: string): Promise<RawSocket> {
  const id = await session("printf 'first'");
  await using typist = await view(id);
  typist.send(FrameType.RESIZE, id, encodeSize({ cols: 100, rows: 30 }));
  typist.type(id, second);
  await typist.shows(/second/);
  typist.send(FrameType.RESIZE, id, encodeSize({ cols: 90, rows: 20 }));
  typist.type(id, "third");
  await typist.shows(/third/);
  const socket = await RawSocket.open(server.url, { magic: "TV" });
  socket.subscribe(id, { flags: Stdout | Events });
  await socket.shows(/third/);
  return socket;
}

test("with Events the history opens with the header and has every resize in its place", async () => {
  await using socket = await resizedTwice("second");
  const frames = socket.frames.filter(({ type }) => type !== FrameType.WELCOME);
  const told = frames.map(({ type, payload }) => {
    return type === FrameType.STDOUT ? textOf(payload) : JSON.parse(textOf(payload));
  });
  expect(told[0]).toMatchObject({ kind: "header", header: { version: 2, width: 80, height: 24 } });
  const text = told.map((item) =>
    typeof item === "string" ? item : item.dimensions ? `<${item.dimensions}>` : "",
  );
  expect(text.join("").replaceAll("<80x24>", "")).toBe("firstready<100x30>second<90x20>third");
});

test("after a clear the header has the size that the terminal had there", async () => {
  await using socket = await resizedTwice("\x1b[2Jsecond");
  expect(socket.jsons(FrameType.EVENT)[0]).toMatchObject({
    kind: "header",
    header: { width: 100, height: 30 },
  });
  expect(textOf(socket.output())).toBe("\x1b[2Jsecondthird");
});

test("a second SUBSCRIBE with other flags repeats no output to anybody", async () => {
  const id = await session("printf 'history'");
  await using socket = await view(id);
  await using other = await view(id, Stdout | Events);
  for (const flags of [Stdout | Events, Stdout | Events | Snapshots, Stdout]) {
    socket.subscribe(id, { flags });
    await socket.settled();
    socket.type(id, "+");
    await socket.settled();
  }
  socket.subscribe(id, { flags: Events });
  socket.type(id, "unseen");
  await socket.settled();
  socket.subscribe(id, { flags: Stdout });
  socket.type(id, "end");
  for (const client of [socket, other]) {
    await client.shows(/end$/);
    expect(textOf(client.output())).toBe("historyready+++unseenend");
  }
});

test("the history and what comes meanwhile are joined without gap or repeat, for viewers at any time", async () => {
  const { id } = await server.client().create({
    command: ["sh", "-c", "stty raw -echo; for i in $(seq 1 30); do seq 1 700; done; printf ready; exec cat"],
  });
  await using first = await RawSocket.open(server.url);
  first.subscribe(id, { flags: Stdout });
  const viewers: RawSocket[] = [];
  while (!/ready$/.test(textOf(first.output().subarray(-5)))) {
    const socket = await RawSocket.open(server.url);
    socket.subscribe(id, { flags: Stdout });
    viewers.push(socket);
    await first.settled();
  }
  for (const socket of viewers) {
    await socket.shows(/ready$/);
    expect(Buffer.compare(socket.output(), first.output())).toBe(0);
    await socket[Symbol.asyncDispose]();
  }
});
