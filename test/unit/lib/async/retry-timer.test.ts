import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RetryTimer } from "../../../../src/lib/async/retry-timer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** When the work is repeated, in seconds; it fails each time. */
function begun(): { readonly timer: RetryTimer; readonly seconds: number[] } {
  const startMs = performance.now();
  const seconds: number[] = [];
  const retry = (): void => {
    seconds.push((performance.now() - startMs) / 1_000);
    timer.start();
  };
  const timer = new RetryTimer({ firstMs: 1_000, maxMs: 60_000, retry });
  timer.start();
  return { timer, seconds };
}

test("failing work is repeated with growing pauses of at most a minute", () => {
  const { seconds } = begun();
  vi.advanceTimersByTime(250_000);
  expect(seconds).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243]);
});

test("starting again does not lengthen the pauses", () => {
  const { timer, seconds } = begun();
  for (let times = 0; times < 10; times++) {
    vi.advanceTimersByTime(500);
    timer.start();
  }
  vi.advanceTimersByTime(3_000);
  expect(seconds).toEqual([6, 8]);
});

test("a stop resets the pauses, and disposal ends the repetition", () => {
  const { timer, seconds } = begun();
  vi.advanceTimersByTime(20_000);
  timer.stop();
  vi.advanceTimersByTime(100_000);
  timer.start();
  vi.advanceTimersByTime(1_000);
  expect(seconds).toEqual([1, 3, 7, 15, 121]);
  timer[Symbol.dispose]();
  timer.start();
  vi.advanceTimersByTime(100_000);
  expect(seconds).toHaveLength(5);
  expect(vi.getTimerCount()).toBe(0);
});
