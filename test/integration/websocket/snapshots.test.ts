// Contract 1.3 and facts 1.7, 2.7: snapshots of the screen.
import { afterAll, beforeAll, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeSnapshot } from "../../../src/web/previews/decode-snapshot.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

type Request = Parameters<RawSocket["subscribe"]>[1];

const { Stdout, Snapshots, Events } = SubscribeFlag;
/** Tolerance between two clocks. */
const CLOCKS_MS = 10;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function start(script: string): Promise<string> {
  const { id } = await server.client().create({ command: ["sh", "-c", script], cols: 40, rows: 10 });
  return id;
}

async function drained(recording: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of recording);
}

function textOfSnapshot(payload: Uint8Array): string {
  const { rows } = decodeSnapshot(payload);
  return rows.map((cells) => cells.map(({ text }) => text).join("")).join("\n");
}

async function shows(socket: RawSocket, id: string, pattern: RegExp): Promise<void> {
  await socket.frame(
    FrameType.SNAPSHOT_VT,
    ({ sessionId, payload }) => sessionId === id && pattern.test(textOfSnapshot(payload)),
  );
}

/** Requests snapshots: the time in ms until `count` after the first have come. */
async function timed(socket: RawSocket, id: string, request: Request, count: number): Promise<number> {
  // Before the server can have received it: a delay of the test only adds to the time.
  const started = performance.now();
  socket.subscribe(id, request);
  await socket.until(
    () => (socket.of(FrameType.SNAPSHOT_VT).length > count ? true : undefined),
    `${count} snapshots more`,
  );
  return performance.now() - started;
}

test("the first snapshot comes at once, also of an idle session that showed nothing, and has at least 32 bytes", async () => {
  const blank = await start("stty -echo; sleep 60");
  const prompt = await start("printf '\\033[32mgreen\\033[m $ '; sleep 60");
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(prompt, { flags: Stdout });
  await socket.shows(/green/);
  for (const flags of [Snapshots, Snapshots | Events, 15]) {
    await using viewer = await RawSocket.open(server.url);
    for (const id of [blank, prompt]) {
      viewer.subscribe(id, { flags });
      const { payload } = await viewer.frame(FrameType.SNAPSHOT_VT, ({ sessionId }) => sessionId === id);
      expect(payload.length).toBeGreaterThanOrEqual(32);
      expect(decodeSnapshot(payload)).toMatchObject({ cols: 40 });
    }
    await shows(viewer, prompt, /^green \$/);
  }
});

test("every change is seen in the end, also the last one before the exit", async () => {
  const id = await start('stty -echo; while read line; do echo "<$line>"; done');
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Snapshots });
  for (const word of ["one", "two", "three"]) {
    socket.type(id, `${word}\n`);
    await shows(socket, id, new RegExp(`<${word}>`));
  }
  socket.type(id, "last\n\u0004");
  await socket.event("exit");
  const screens = socket.of(FrameType.SNAPSHOT_VT).map(({ payload }) => payload);
  expect(textOfSnapshot(screens.at(-1) ?? new Uint8Array())).toContain("<last>");
  expect(socket.frames.at(-1)?.type).toBe(FrameType.EVENT);
  // Only the cursor may have moved.
  expect(new Set(screens.map((screen) => screen.toString())).size).toBe(screens.length);
  expect(socket.outputBytes).toBe(0);
});

test("a viewer of snapshots of an ended session gets its last screen, then the exit, and nothing more", async () => {
  const id = await start("printf bye");
  await server.client().recording(id, { follow: true }, new AbortController().signal).then(drained);
  for (const flags of [Snapshots, Snapshots | Events, Snapshots | Events | Stdout]) {
    await using socket = await RawSocket.open(server.url);
    socket.subscribe(id, { flags });
    await socket.event("exit");
    await socket.settled();
    const told = socket.frames.map(({ type }) => type).filter((type) => type !== FrameType.WELCOME);
    expect(told.filter((type) => type === FrameType.SNAPSHOT_VT)).toHaveLength(1);
    expect(told.slice(-2)).toEqual([FrameType.EVENT, FrameType.PONG]);
  }
});

test("a session that does not pause is seen all the time", async () => {
  const id = await start("i=0; while :; do i=$((i+1)); echo line $i; sleep 0.002; done");
  await using socket = await RawSocket.open(server.url);
  await timed(socket, id, { flags: Snapshots }, 20);
  const texts = socket.of(FrameType.SNAPSHOT_VT).map(({ payload }) => textOfSnapshot(payload));
  expect(new Set(texts).size).toBeGreaterThan(15);
  socket.send(FrameType.KILL, id, "SIGKILL");
});

test("not more often than every 50 ms, and not more often than the client asks for", async () => {
  const id = await start("i=0; while :; do i=$((i+1)); echo line $i; sleep 0.002; done");
  for (const [intervals, atLeastMs, count] of [
    [{}, 50, 25],
    [{ minIntervalMs: 200 }, 200, 8],
    [{ minIntervalMs: 200, maxIntervalMs: 500 }, 200, 8],
    [{ maxIntervalMs: 1_000 }, 50, 25],
  ] as const) {
    await using socket = await RawSocket.open(server.url);
    const tookMs = await timed(socket, id, { flags: Snapshots, ...intervals }, count);
    expect(tookMs).toBeGreaterThan(count * atLeastMs - CLOCKS_MS);
  }
  await using eager = await RawSocket.open(server.url);
  await timed(eager, id, { flags: Snapshots, maxIntervalMs: 1 }, 20);
  eager.send(FrameType.KILL, id, "SIGKILL");
});

test("a second SUBSCRIBE with the flag brings another at once, one without it ends them", async () => {
  const id = await start("stty -echo; printf ready; exec cat");
  await using socket = await RawSocket.open(server.url);
  for (let count = 1; count <= 3; count++) {
    socket.subscribe(id, { flags: Snapshots | Events, minIntervalMs: 60_000 });
    await socket.until(
      () => (socket.of(FrameType.SNAPSHOT_VT).length === count ? true : undefined),
      "another",
    );
  }
  socket.subscribe(id, { flags: Stdout | Events });
  socket.type(id, "more\n");
  await socket.shows(/more/);
  await socket.settled();
  expect(socket.of(FrameType.SNAPSHOT_VT).length).toBe(3);
});
