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

test("work that fails is repeated ever more rarely, up to once a minute", () => {
  const { seconds } = begun();
  vi.advanceTimersByTime(250_000);
  expect(seconds).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243]);
});

test("the pauses grow by the timer alone, not by what others have repeated meanwhile", () => {
  const { timer, seconds } = begun();
  for (let times = 0; times < 10; times++) {
    vi.advanceTimersByTime(500);
    timer.start();
  }
  vi.advanceTimersByTime(3_000);
  expect(seconds).toEqual([6, 8]);
});

test("after a success the pauses begin anew, and after its end nothing is repeated", () => {
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
