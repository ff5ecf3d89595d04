// Contract 1.11: a viewer that does not read.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { decodeOutput, FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { bestTime } from "../harness/best-time.ts";
import { Emulator } from "../harness/emulator.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;
const MIB = 1024 * 1024;
const STALLED_VIEWERS = 12;
/** Much more than a viewer that does not read may cost. */
const FLOOD_MIB = 24;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start({ asProcess: true });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Prints FLOOD_MIB of lines and the line itself for each input line; ends with the input. */
async function flood(): Promise<string> {
  const lines = `yes 'a line of a log that is neither long nor short, 63 bytes with it' | head -c ${FLOOD_MIB * MIB}`;
  const script = `stty -echo; while read line; do ${lines}; printf '\\n\\033[1m%s\\033[m' "$line"; done`;
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  return id;
}

async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

/** A viewer that reads everything and keeps nothing. */
async function reader(id: string): Promise<RawSocket> {
  const socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout | Events | Offsets, from: "live" });
  await socket.settled();
  return socket;
}

async function shows(socket: RawSocket, word: string): Promise<void> {
  // In bold, unlike an echo. A screen that replaces output writes it in its own way.
  await socket.shows(new RegExp(`\\x1b\\[[\\d;]*1m${word}`));
  socket.frames.length = 0;
}

test("viewers that do not read cost little memory, delay nobody, and catch up quickly", async () => {
  const id = await flood();
  await using steady = await reader(id);
  for (const word of ["warm", "warmer"]) {
    steady.type(id, `${word}\n`);
    await shows(steady, word);
  }
  const alone = performance.now();
  steady.type(id, "alone\n");
  await shows(steady, "alone");
  const aloneMs = performance.now() - alone;
  const before = await memoryOf(server.pid);

  const stalled = await Promise.all(Array.from({ length: STALLED_VIEWERS }, () => reader(id)));
  for (const viewer of stalled) viewer.pause();
  const promisedMs = 3 * aloneMs + 1_000;
  const togetherMs = await bestTime(promisedMs, async () => {
    const together = performance.now();
    steady.type(id, "together\n");
    await shows(steady, "together");
    return performance.now() - together;
  });
  const growth = (await memoryOf(server.pid)) - before;
  console.log(
    `${STALLED_VIEWERS} viewers that do not read: ${(growth / MIB).toFixed(1)} MiB; ` +
      `${FLOOD_MIB} MiB in ${aloneMs.toFixed(0)} ms alone, ${togetherMs.toFixed(0)} ms beside them`,
  );
  expect(growth).toBeLessThan(STALLED_VIEWERS * 4 * MIB);
  expect(togetherMs).toBeLessThan(promisedMs);

  for (const viewer of stalled) viewer.resume();
  for (const viewer of stalled) {
    await viewer.frame(FrameType.RESYNC);
    await viewer.settled();
  }
  steady.type(id, "\u0004");
  for (const viewer of [steady, ...stalled]) await viewer.event("exit");
  await expectRight(id, stalled);
  for (const viewer of stalled) await viewer[Symbol.asyncDispose]();
});

/** The final screen of each equals that of the whole output. */
async function expectRight(id: string, viewers: readonly RawSocket[]): Promise<void> {
  const { outputBytes } = await server.client().get(id);
  const query = { from: outputBytes - 2 * MIB };
  const source = await server.client().bytes(endpoints.sessionOutput, { params: { id }, query });
  using truth = new Emulator();
  await truth.write(source);
  for (const viewer of viewers) {
    const at = viewer.frames.findLastIndex(({ type }) => type === FrameType.RESYNC);
    const { offset } = decodeResync(viewer.frames[at]?.payload ?? new Uint8Array());
    expect(viewer.outputBytes).toBeLessThan(32 * MIB);
    let next = offset;
    for (const frame of viewer.frames.slice(at + 1)) {
      if (frame.type !== FrameType.OUTPUT) continue;
      const output = decodeOutput(frame.payload);
      expect(output.offset).toBe(next);
      next += output.bytes.length;
    }
    expect(next).toBe(outputBytes);
    using emulator = new Emulator();
    await emulator.take(viewer.frames.slice(at));
    expect(emulator.seen).toEqual(truth.seen);
  }
}

test("a viewer without offsets that does not read gets a reset and the screen, and goes on", async () => {
  const id = await flood();
  await using steady = await reader(id);
  await using slow = await RawSocket.open(server.url, { magic: "TV" });
  slow.subscribe(id, { flags: Stdout | Events });
  await slow.settled();
  slow.pause();
  for (const word of ["first", "second"]) {
    steady.type(id, `${word}\n`);
    await shows(steady, word);
  }
  slow.resume();
  await slow.frame(FrameType.STDOUT, ({ payload }) => payload[0] === 0x1b && payload[1] === 0x63);
  steady.type(id, "third\n");
  await slow.shows(/third/);
  const at = slow.frames.findLastIndex(
    ({ type, payload }) => type === FrameType.STDOUT && payload[1] === 0x63,
  );
  using emulator = new Emulator();
  for (const { type, payload } of slow.frames.slice(at))
    if (type === FrameType.STDOUT) await emulator.write(payload);
  expect(emulator.seen.lines.at(-1)).toMatch(/third$/);
  expect(slow.outputBytes).toBeLessThan(2 * FLOOD_MIB * MIB);
});

test("a viewer that does not read its answers is not read, and goes on when it reads them", async () => {
  const { id } = await server
    .client()
    .create({ command: ["sh", "-c", "stty raw -echo; exec cat >/dev/null"] });
  await using socket = await RawSocket.open(server.url);
  socket.pause();
  const payload = new Uint8Array(64 * 1024);
  for (let index = 0; index < 500; index++) socket.send(FrameType.PING, "", payload);
  socket.type(id, "x");
  socket.send(FrameType.PING, "", "the last");
  await using other = await RawSocket.open(server.url);
  await other.settled();
  socket.resume();
  await socket.frame(FrameType.PONG, (frame) => textOf(frame.payload) === "the last");
  expect(socket.of(FrameType.PONG).length).toBe(501);
});
