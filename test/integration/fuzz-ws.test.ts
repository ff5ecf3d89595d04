// Arbitrary input over /ws: the server answers, survives, and keeps its memory.
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { encodeFrame, FrameType } from "../../src/protocol/frame/frame.ts";
import { encodeSize, encodeSubscribe } from "../../src/protocol/frame/payload.ts";
import { Follower } from "./harness/follower.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { scaled } from "./harness/scale.ts";
import { TestServer } from "./harness/test-server.ts";

const FRAMES_A_ROUND = 500;
/** These warm up the server before its memory is measured. */
const WARM_ROUNDS = 25;
const ROUNDS = scaled(175);
/** Heaps, caches and buffers of two processes vary; a leak of received data would be hundreds. */
const GROWTH_MIB = 96;

let server: TestServer;
let sessionId: string;

beforeAll(async () => {
  server = await TestServer.start({ asProcess: true });
  sessionId = (await server.client().create({ command: ["cat"] })).id;
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const ids = fc.oneof(
  fc.constantFrom("", "no-such-session", "../../etc/passwd", "a".repeat(256), "\u0000", "é"),
  fc.string({ maxLength: 40 }),
);
const types = fc.oneof(fc.constantFrom(...Object.values(FrameType)), fc.integer({ min: 0, max: 255 }));
const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  fc.integer({ min: 0, max: 15 }).map((flags) => encodeSubscribe({ flags: flags & 7 })),
  fc.constantFrom(encodeSize({ cols: 1, rows: 1000 }), new TextEncoder().encode("SIGNOTHING")),
);
/** Never input or a signal to the one running session, which is not under test. */
const wellFormed = fc
  .tuple(types, ids, payloads)
  .map(([type, id, payload]) => encodeFrame(FrameType.PING, id.slice(0, 60), payload).with(3, type));
const aboutSession = fc
  .tuple(fc.constantFrom(FrameType.SUBSCRIBE, FrameType.UNSUBSCRIBE, FrameType.RESIZE), payloads)
  .map(([type, payload]) => encodeFrame(type, sessionId, payload));
const mutated = fc
  .tuple(wellFormed, fc.nat(), fc.integer({ min: 0, max: 255 }))
  .map(([frame, at, byte]) => frame.with(at % frame.length, byte));
const messages = fc.oneof(wellFormed, aboutSession, mutated, fc.uint8Array({ maxLength: 100 }));

/** Sends all of them, reconnecting whenever the server closes, and waits until it has processed them. */
async function send(frames: readonly Uint8Array[]): Promise<void> {
  let socket = await open();
  for (const [index, frame] of frames.entries()) {
    // 16 bad frames in a row close a connection: a good one in between keeps it open.
    if (index % 10 === 9) socket.send(encodeFrame(FrameType.PING, "", new Uint8Array(1)));
    if (socket.readyState !== WebSocket.OPEN) socket = await open();
    socket.send(frame);
  }
  const last = new TextEncoder().encode("the last one");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("message", (data: Buffer) => {
    if (data[3] === FrameType.PONG && data.includes("the last one")) resolve();
  });
  socket.once("close", (code) => reject(new Error(`closed with ${code}`)));
  socket.send(encodeFrame(FrameType.PING, "", last));
  await withDeadline(promise, PATIENCE_MS, "the answer to the last PING");
  socket.terminate();
}

async function open(): Promise<WebSocket> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("open", resolve);
  socket.once("error", reject);
  await promise;
  return socket;
}

async function residentMiB(): Promise<number> {
  let total = 0;
  for (const pid of [server.pid, await server.hostPid()]) {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    total += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }
  return total;
}

test("thousands of invalid frames of all kinds do not harm the server, and its memory is steady", {
  timeout: 240_000,
}, async () => {
  const round = fc.array(messages, { minLength: FRAMES_A_ROUND, maxLength: FRAMES_A_ROUND, size: "max" });
  const property = fc.asyncProperty(round, send);
  await fc.assert(property, { numRuns: WARM_ROUNDS, endOnFailure: true });
  const before = await residentMiB();
  await fc.assert(property, { numRuns: ROUNDS, endOnFailure: true });
  expect((await residentMiB()) - before).toBeLessThan(GROWTH_MIB);

  using socket = server.connect();
  await socket.opened(PATIENCE_MS);
  using follower = Follower.attach(socket, sessionId);
  await socket.write(sessionId, new TextEncoder().encode("still here\n"));
  await follower.shows(/still here\r\nstill here\r\n/);
  expect(server.log).not.toMatch(/"level":"error"/);
});
