import { expect, test } from "vitest";
import { WatchQuota } from "../../../../src/git/facts/watch-quota.ts";

function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}

function quotaOf(most: number) {
  const clock = { ms: 0 };
  const told: unknown[] = [];
  const quota = new WatchQuota({ most, now: () => clock.ms, onExhausted: (error) => told.push(error) });
  return { quota, clock, told };
}

test("so many and no more; what is given back can be taken again", () => {
  const { quota, told } = quotaOf(2);
  expect([1, 2, 3].map((one) => quota.take(() => one))).toEqual([1, 2, undefined]);
  quota.release();
  expect(quota.take(() => 4)).toBe(4);
  expect(quota.taken).toBe(2);
  expect(told).toEqual([]);
});

test.each(["ENOSPC", "EMFILE", "ENFILE"])(
  "a system with nothing left (%s) is told of once, and asked again after a minute",
  (code) => {
    const { quota, clock, told } = quotaOf(10);
    const asked: number[] = [];
    const take = (): void => {
      quota.take(() => {
        asked.push(clock.ms);
        return failing(code)();
      });
    };
    for (clock.ms = 0; clock.ms < 150_000; clock.ms += 1_000) take();
    expect(asked).toEqual([0, 60_000, 120_000]);
    expect(told).toHaveLength(1);
    clock.ms = 200_000;
    expect(quota.take(() => "watch")).toBe("watch");
    take();
    expect(told).toHaveLength(2);
    expect(quota.taken).toBe(1);
  },
);

test("other failures are the caller's, and cost nothing", () => {
  const { quota, told } = quotaOf(1);
  expect(() => quota.take(failing("ENOENT"))).toThrow("ENOENT");
  expect(quota.take(() => "watch")).toBe("watch");
  expect(told).toEqual([]);
});
