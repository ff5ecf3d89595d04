import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { concatBytes } from "../../../../src/lib/data/collect.ts";
import { encodeOutputFrame, type OutputDelivery } from "../../../../src/protocol/frame/frame.ts";
import { OUTPUT_BATCH_MS, PROMPT_OUTPUT_BYTES } from "../../../../src/protocol/limits.ts";
import { OutputBatch } from "../../../../src/sessions/pty/output-batch.ts";
import { until } from "../../until.ts";

const MAX_PIECE_BYTES = 256 * 1024;

function recorder() {
  const pieces: OutputDelivery[] = [];
  const clock = { ms: 1000 };
  const emitted = Promise.withResolvers<void>();
  const emit = (piece: OutputDelivery): void => {
    pieces.push(piece);
    emitted.resolve();
  };
  const batch = new OutputBatch({ sessionId: "s1", emit, now: () => clock.ms });
  return { pieces, clock, batch, emitted: emitted.promise };
}

const filled = (length: number, value = 120): Uint8Array => new Uint8Array(length).fill(value);
const lengths = (pieces: readonly OutputDelivery[]): number[] => pieces.map(({ bytes }) => bytes.length);

test("a little output leaves at once, each piece in a frame of its own", () => {
  const { pieces, batch } = recorder();
  const chunk = new TextEncoder().encode("hello");
  batch.add(chunk);
  // The terminal reads into one buffer again and again.
  chunk.fill(0);
  batch.add(new TextEncoder().encode(" you"));
  expect(pieces.map(({ offset, bytes }) => [offset, new TextDecoder().decode(bytes)])).toEqual([
    [0, "hello"],
    [5, " you"],
  ]);
  expect(pieces[1]?.frame).toEqual(encodeOutputFrame("s1", 5, new TextEncoder().encode(" you")));
  expect(batch.offset).toBe(9);
});

test("output beyond the prompt bytes of a window is emitted a moment later", async () => {
  const { pieces, batch, emitted } = recorder();
  batch.add(filled(PROMPT_OUTPUT_BYTES));
  batch.add(filled(1));
  batch.add(filled(2));
  expect(lengths(pieces)).toEqual([PROMPT_OUTPUT_BYTES]);
  expect(batch.offset).toBe(PROMPT_OUTPUT_BYTES + 3);
  await emitted;
  const started = performance.now();
  while (pieces.length < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(performance.now() - started).toBeLessThan(15_000);
  expect(lengths(pieces)).toEqual([PROMPT_OUTPUT_BYTES, 3]);
});

test("the first bytes of the next window leave at once, with the held ones", () => {
  const { pieces, batch, clock } = recorder();
  batch.add(filled(PROMPT_OUTPUT_BYTES + 10));
  clock.ms += OUTPUT_BATCH_MS - 0.5;
  batch.add(filled(5));
  expect(pieces).toEqual([]);
  clock.ms += 1;
  batch.add(filled(1));
  expect(lengths(pieces)).toEqual([PROMPT_OUTPUT_BYTES + 16]);
});

test("a flood leaves in full frames", () => {
  const { pieces, batch } = recorder();
  for (let sent = 0; sent < 3 * MAX_PIECE_BYTES; sent += 4096) batch.add(filled(4096));
  batch.add(filled(100));
  expect(lengths(pieces)).toEqual([4096, MAX_PIECE_BYTES, MAX_PIECE_BYTES]);
  batch.flush();
  expect(lengths(pieces).slice(3)).toEqual([MAX_PIECE_BYTES - 4096 + 100]);
});

test("sessions hold no memory for a flood that is over", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const batches = Array.from({ length: 100 }, () => recorder().batch);
  const before = process.memoryUsage().arrayBuffers;
  for (const batch of batches) batch.add(filled(2 * PROMPT_OUTPUT_BYTES));
  await until(() => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers - before < (batches.length * MAX_PIECE_BYTES) / 10;
  });
  expect(batches.map(({ offset }) => offset)).toEqual(batches.map(() => 2 * PROMPT_OUTPUT_BYTES));
});

test("no byte is lost, doubled or changed, and emitted frames never change", () => {
  const step = fc.record({
    bytes: fc.uint8Array({ maxLength: 40 }),
    repeat: fc.integer({ min: 1, max: 20_000 }),
    afterMs: fc.constantFrom(0, 0, 0.1, 1, 3.9, 4, 50),
    isFlushed: fc.boolean(),
  });
  return fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { pieces, batch, clock } = recorder();
      const added: Uint8Array[] = [];
      for (const { bytes, repeat, afterMs, isFlushed } of steps) {
        clock.ms += afterMs;
        const chunk = concatBytes(
          Array.from({ length: bytes.length === 0 ? 0 : Math.min(repeat, 8000) }, () => bytes),
        );
        added.push(chunk.slice());
        batch.add(chunk);
        chunk.fill(0);
        if (isFlushed) batch.flush();
      }
      batch.flush();
      let offset = 0;
      for (const piece of pieces) {
        expect(piece.offset).toBe(offset);
        expect(piece.bytes.length).toBeGreaterThan(0);
        expect(piece.bytes.length).toBeLessThanOrEqual(MAX_PIECE_BYTES);
        expect(Buffer.compare(piece.frame, encodeOutputFrame("s1", offset, piece.bytes))).toBe(0);
        offset += piece.bytes.length;
      }
      expect(Buffer.compare(concatBytes(pieces.map(({ bytes }) => bytes)), concatBytes(added))).toBe(0);
      expect(batch.offset).toBe(offset);
    }),
    { numRuns: 60 },
  );
});
