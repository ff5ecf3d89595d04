import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Snapshots } from "../../../../src/hub/viewer/snapshots.ts";

// Timers are the subject here: the platform's are moved by hand.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp(
  intervals: { minIntervalMs?: number; maxIntervalMs?: number } = {},
  { readMs = 0, failures = 0, isStill = false } = {},
) {
  const made: number[] = [];
  const taken: number[] = [];
  const snapshots = new Snapshots({
    minIntervalMs: 0,
    maxIntervalMs: 0,
    ...intervals,
    now: () => Date.now(),
    read: async () => {
      made.push(Date.now());
      if (readMs > 0) await new Promise((resolve) => setTimeout(resolve, readMs));
      if (made.length <= failures) throw new Error("out of reach");
      return new Uint8Array([isStill ? 0 : made.length]);
    },
    onReady: () => void (viewer.isReading && viewer.take()),
  });
  const viewer = {
    isReading: true,
    take: () => void (snapshots.take() !== undefined && taken.push(Date.now())),
  };
  const run = async (ms: number, outputEveryMs?: number): Promise<void> => {
    const step = outputEveryMs ?? ms;
    for (let passed = 0; passed < ms; passed += step) {
      if (outputEveryMs !== undefined) snapshots.changed();
      await vi.advanceTimersByTimeAsync(step);
    }
  };
  return { made, taken, snapshots, viewer, run };
}

const gaps = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

test("the first snapshot comes at once, and no other while nothing changes", async () => {
  const { taken, run } = setUp();
  await run(10_000);
  expect(taken.length).toBe(1);
});

test("each screen comes once", async () => {
  const { made, taken, snapshots, run } = setUp({}, { isStill: true });
  for (let change = 0; change < 3; change++) {
    snapshots.changed();
    await run(1_000);
  }
  expect([made.length, taken.length]).toEqual([4, 1]);
});

test("the last snapshot is read as soon as the session has ended, whatever the interval, and is due until it is taken", async () => {
  const { taken, snapshots, viewer, run } = setUp({ minIntervalMs: 5_000 });
  await run(10);
  viewer.isReading = false;
  expect(snapshots.isDue).toBe(false);
  snapshots.changed();
  snapshots.finish();
  await run(10);
  expect(snapshots.isDue).toBe(true);
  viewer.take();
  expect([snapshots.isDue, taken.length]).toEqual([false, 2]);
});

test("a snapshot that cannot be read is not due, so that the exit does not wait for it", async () => {
  const { snapshots, run } = setUp({}, { failures: 1_000 });
  await run(10);
  snapshots.finish();
  await run(10);
  expect(snapshots.isDue).toBe(false);
});

test("continuous output gives a snapshot every 50 ms, and one after its end", async () => {
  const { taken, run } = setUp();
  await run(1_000, 3);
  await run(1_000);
  expect(taken.length).toBeGreaterThanOrEqual(20);
  expect(Math.min(...gaps(taken))).toBeGreaterThanOrEqual(50);
  expect(Math.max(...gaps(taken))).toBeLessThanOrEqual(53);
});

test("the requested minimum interval is kept and takes precedence over the maximum", async () => {
  for (const [minIntervalMs, maxIntervalMs, expected] of [
    [200, 0, 200],
    [200, 1_000, 200],
    [200, 10, 200],
    [0, 20, 20],
    [0, 5_000, 50],
  ] as const) {
    const { taken, run } = setUp({ minIntervalMs, maxIntervalMs });
    await run(4_000, 1);
    expect(new Set(gaps(taken))).toEqual(new Set([expected]));
  }
});

test("an interval longer than the longest timer of the platform is kept", async () => {
  const { made, run } = setUp({ minIntervalMs: 0xffff_ffff });
  await run(10_000, 10);
  expect(made.length).toBe(1);
});

test("no snapshot is read until the viewer has taken the last one, then the newest follows", async () => {
  const { made, taken, viewer, run } = setUp();
  viewer.isReading = false;
  await run(10_000, 10);
  expect(made.length).toBe(1);
  viewer.isReading = true;
  viewer.take();
  await run(100);
  expect([made.length, taken.length]).toEqual([2, 2]);
});

test("a snapshot that cannot be read is retried, also without further changes", async () => {
  const { made, taken, run } = setUp({}, { failures: 3 });
  await run(3_000);
  expect(made.length).toBe(4);
  expect(taken.length).toBe(1);
  expect(Math.min(...gaps(made))).toBeGreaterThanOrEqual(500);
});

test("a change during the read of a snapshot leads to another snapshot", async () => {
  const { made, snapshots, run } = setUp({}, { readMs: 30 });
  await run(10);
  snapshots.changed();
  await run(1_000);
  expect(made.length).toBe(2);
});

test("no snapshot follows the disposal", async () => {
  const { taken, snapshots, run } = setUp({}, { readMs: 30 });
  snapshots.changed();
  snapshots[Symbol.dispose]();
  await run(1_000, 10);
  expect(taken).toEqual([]);
});
