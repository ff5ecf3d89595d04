import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LaterLooks } from "../../../../src/git/follow/later-looks.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** When looks are taken, in seconds; none of them is any better. */
function begun(): { readonly later: LaterLooks; readonly seconds: number[] } {
  const startMs = performance.now();
  const seconds: number[] = [];
  const later = new LaterLooks((repoPath) => {
    seconds.push((performance.now() - startMs) / 1_000);
    later.add(repoPath);
  });
  later.add("/r");
  return { later, seconds };
}

test("come ever more rarely, up to one a minute", () => {
  const { seconds } = begun();
  vi.advanceTimersByTime(250_000);
  expect(seconds).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243]);
});

test("are no more rare, and no more, for what others look at meanwhile", () => {
  const { later, seconds } = begun();
  for (let looks = 0; looks < 10; looks++) {
    vi.advanceTimersByTime(500);
    later.add("/r");
  }
  vi.advanceTimersByTime(3_000);
  expect(seconds).toEqual([6, 8]);
});

test("begin anew once all was well, and end", () => {
  const { later, seconds } = begun();
  vi.advanceTimersByTime(20_000);
  later.delete("/r");
  vi.advanceTimersByTime(100_000);
  later.add("/r");
  vi.advanceTimersByTime(1_000);
  expect(seconds).toEqual([1, 3, 7, 15, 121]);
  later[Symbol.dispose]();
  later.add("/r");
  vi.advanceTimersByTime(100_000);
  expect(seconds).toHaveLength(5);
  expect(vi.getTimerCount()).toBe(0);
});
