import * as fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Keep, Retention, surplus } from "../../../../src/sessions/storage/retention.ts";

const NOW = 1_000_000;

type Ended = { readonly id: string; readonly endedAt: number; readonly bytes: number };

function ended(id: string, endedAt: number, bytes: number): Ended {
  return { id, endedAt, bytes };
}

function going(all: readonly Ended[], keep: Partial<Keep>): readonly string[] {
  return surplus(all, { maxAgeMs: undefined, maxBytes: undefined, ...keep }, NOW).map(
    ({ id, because }) => `${id} by ${because}`,
  );
}

const THREE = [ended("new", NOW - 10, 5), ended("old", NOW - 1_000, 30), ended("middle", NOW - 100, 20)];

test("sessions over the age are removed, the oldest first", () => {
  expect(going(THREE, { maxAgeMs: 100 })).toEqual(["old by age"]);
  expect(going(THREE, { maxAgeMs: 99 })).toEqual(["old by age", "middle by age"]);
  expect(going(THREE, { maxAgeMs: 1_000 })).toEqual([]);
});

test("the oldest sessions are removed until the rest fits the size", () => {
  expect(going(THREE, { maxBytes: 55 })).toEqual([]);
  expect(going(THREE, { maxBytes: 54 })).toEqual(["old by size"]);
  expect(going(THREE, { maxBytes: 24 })).toEqual(["old by size", "middle by size"]);
  expect(going(THREE, { maxBytes: 4 })).toEqual(["old by size", "middle by size", "new by size"]);
});

test("both limits apply", () => {
  expect(going(THREE, { maxAgeMs: 500, maxBytes: 5 })).toEqual(["old by age", "middle by size"]);
});

test("for all sessions: the rest is within the limits and newer than the removed ones", () => {
  const one = fc.record({ endedAt: fc.integer({ min: 0, max: NOW }), bytes: fc.nat({ max: 1_000 }) });
  const limit = fc.option(fc.nat({ max: 5_000 }), { nil: undefined });
  return fc.assert(
    fc.property(fc.array(one), limit, limit, (all, maxAgeMs, maxBytes) => {
      const named = all.map(({ endedAt, bytes }, index) => ended(`${index}`, endedAt, bytes));
      const gone = surplus(named, { maxAgeMs, maxBytes }, NOW);
      const ids = new Set(gone.map(({ id }) => id));
      const kept = named.filter(({ id }) => !ids.has(id));
      if (maxAgeMs !== undefined)
        for (const each of kept) expect(NOW - each.endedAt).toBeLessThanOrEqual(maxAgeMs);
      if (maxBytes !== undefined)
        expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(maxBytes);
      const newest = Math.max(...gone.map(({ endedAt }) => endedAt));
      for (const each of kept) expect(each.endedAt).toBeGreaterThanOrEqual(newest);
      if (maxAgeMs === undefined && maxBytes === undefined) expect(gone).toEqual([]);
    }),
  );
});

test("sessions that end all the time do not delay a check", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let checks = 0;
  await using retention = new Retention({
    keep: { maxAgeMs: undefined, maxBytes: undefined },
    discard: () => expect.unreachable("there is none"),
    log: { info: () => {}, error: () => {} },
    sessions: () => {
      checks += 1;
      return [];
    },
  });
  for (let ended = 0; ended < 10; ended++) {
    retention.check();
    await vi.advanceTimersByTimeAsync(400);
  }
  expect(checks).toBeGreaterThan(1);
});
