import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Backoff } from "../../../../src/lib/async/backoff.ts";

const TIMES = { firstMs: 500, maxMs: 15_000 };

function pauses(backoff: Backoff, count: number): readonly number[] {
  return Array.from({ length: count }, () => backoff.next());
}

test("pauses double from half a second to 15 s and stay there", () => {
  const backoff = new Backoff({ ...TIMES, random: () => 0 });
  expect(pauses(backoff, 8)).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
});

test("after a success the next pause is the first again", () => {
  const backoff = new Backoff({ ...TIMES, random: () => 0 });
  pauses(backoff, 5);
  backoff.reset();
  expect(backoff.next()).toBe(500);
});

test("jitter shortens a pause by up to a half and never lengthens it", () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  return fc.assert(
    fc.property(random, fc.integer({ min: 1, max: 40 }), (value, count) => {
      const plain = pauses(new Backoff({ ...TIMES, random: () => 0 }), count).at(-1) ?? 0;
      const jittered = pauses(new Backoff({ ...TIMES, random: () => value }), count).at(-1) ?? 0;
      expect(jittered).toBeGreaterThanOrEqual(plain / 2);
      expect(jittered).toBeLessThanOrEqual(plain);
    }),
  );
});
