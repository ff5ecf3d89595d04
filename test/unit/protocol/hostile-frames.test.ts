// Frames as an attacker or a broken network makes them: the decoders answer with a value or with one of two errors.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeFrame,
  decodeOutput,
  encodeFrame,
  encodeOutputFrame,
  FrameType,
  isMalformed,
} from "../../../src/protocol/frame/frame.ts";
import {
  decodeGoAway,
  decodeHello,
  decodeSize,
  decodeSubscribe,
  decodeSubscribed,
  decodeText,
  encodeJson,
  encodeSize,
  encodeSubscribe,
} from "../../../src/protocol/frame/payload.ts";
import { decodeResync, encodeResync } from "../../../src/protocol/frame/resync.ts";
import { encodeSnapshot } from "../../../src/protocol/frame/snapshot.ts";
import { decodeSnapshot } from "../../../src/web/previews/decode-snapshot.ts";
import { utf8 } from "./hex.ts";

const FRAMES = 100_000;
const MUTATIONS = 50;

const DECODERS: Readonly<Record<number, (payload: Uint8Array) => unknown>> = {
  [FrameType.HELLO]: decodeHello,
  [FrameType.GOAWAY]: decodeGoAway,
  [FrameType.SUBSCRIBE]: decodeSubscribe,
  [FrameType.SUBSCRIBED]: decodeSubscribed,
  [FrameType.OUTPUT]: decodeOutput,
  [FrameType.RESYNC]: decodeResync,
  [FrameType.RESIZE]: decodeSize,
  [FrameType.KILL]: decodeText,
  [FrameType.SNAPSHOT_VT]: decodeSnapshot,
};

const snapshot = encodeSnapshot({
  cols: 80,
  viewportY: 3,
  cursorX: 0,
  cursorY: 1,
  rows: [
    [{ text: "é", fg: { r: 1, g: 2, b: 3 }, bg: 4, attributes: 5 }],
    [],
    [
      { text: "x", attributes: 0 },
      { text: " ", attributes: 16 },
    ],
  ],
});

const SEEDS = [
  encodeFrame(FrameType.GOAWAY, "", encodeJson({ afterMs: 100, jitterMs: 40, reason: "restart" })),
  encodeFrame(FrameType.HELLO, "", encodeJson({ client: "demo", version: "1.0" })),
  encodeFrame(FrameType.SUBSCRIBE, "s1", encodeSubscribe({ flags: 13, from: 2 ** 40 })),
  encodeFrame(
    FrameType.SUBSCRIBED,
    "s1",
    encodeJson({ flags: 9, offset: 1, cols: 80, rows: 24, status: "exited" }),
  ),
  encodeOutputFrame("séance", 2 ** 33, utf8("output")),
  encodeFrame(
    FrameType.RESYNC,
    "s1",
    encodeResync({ offset: 5, size: { cols: 80, rows: 24 }, bytes: utf8("x") }),
  ),
  encodeFrame(FrameType.RESIZE, "s1", encodeSize({ cols: 80, rows: 24 })),
  encodeFrame(FrameType.KILL, "s1", utf8("SIGTERM")),
  encodeFrame(FrameType.SNAPSHOT_VT, "s1", snapshot, "TV"),
];

function decodeAll(message: Uint8Array): void {
  const { type, payload } = decodeFrame(message);
  DECODERS[type]?.(payload);
}

/** Whether the frame was decoded; throws any error but the two expected ones. */
function survives(message: Uint8Array): boolean {
  try {
    decodeAll(message);
    return true;
  } catch (error) {
    if (isMalformed(error)) return false;
    throw error;
  }
}

test("each seed is a good frame", () => {
  for (const seed of SEEDS) expect(survives(seed)).toBe(true);
});

test(`${FRAMES} frames with changed, missing and foreign bytes give no other error`, () => {
  const mutation = fc.record({
    at: fc.nat(),
    value: fc.integer({ min: 0, max: 255 }),
    cut: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(60) }),
  });
  const mutations = fc.array(mutation, { minLength: MUTATIONS, maxLength: MUTATIONS });
  const counted = { good: 0, bad: 0 };
  fc.assert(
    fc.property(fc.constantFrom(...SEEDS), mutations, (seed, changes) => {
      let frame = seed;
      changes.forEach(({ at, value, cut }, i) => {
        // Every fifth starts over, so that most frames are nearly right.
        if (i % 5 === 0) frame = seed.slice();
        if (frame.length > 0) frame[at % frame.length] = value;
        counted[survives(frame.subarray(0, Math.max(0, frame.length - cut))) ? "good" : "bad"]++;
      });
    }),
    { numRuns: FRAMES / MUTATIONS },
  );
  expect(counted.good + counted.bad).toBe(FRAMES);
  expect(counted.good).toBeGreaterThan(FRAMES / 20);
  expect(counted.bad).toBeGreaterThan(FRAMES / 20);
});

test("random bytes after a valid header give no other error", () => {
  const types = Object.keys(DECODERS).map(Number);
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.uint8Array({ maxLength: 64 }), (type, payload) => {
      survives(encodeFrame(type, "s1", payload));
    }),
    { numRuns: 5_000 },
  );
});
