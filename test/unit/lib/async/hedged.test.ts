import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hedged } from "../../../../src/lib/async/hedged.ts";

/** Attempts that the test answers. */
function byHand() {
  const attempts: { readonly signal: AbortSignal; readonly answer: PromiseWithResolvers<string> }[] = [];
  const discarded: string[] = [];
  const caller = new AbortController();
  const result = hedged<string>(
    (signal) => {
      const answer = Promise.withResolvers<string>();
      attempts.push({ signal, answer });
      return answer.promise;
    },
    {
      ...{ firstMs: 100, signal: caller.signal, discard: (late) => void discarded.push(late) },
      isFinal: (error) => error instanceof RangeError,
    },
  );
  const answerOf = (index: number): PromiseWithResolvers<string> => {
    const attempt = attempts[index];
    if (attempt === undefined) throw new Error(`there is no attempt ${index}`);
    return attempt.answer;
  };
  const aborted = (): boolean[] => attempts.map(({ signal }) => signal.aborted);
  return { attempts, answerOf, aborted, discarded, caller, result };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("further attempts begin beside one without an answer, after pauses that double", () => {
  const { attempts, aborted } = byHand();
  const counts = [99, 1, 199, 1, 399, 1].map((ms) => {
    vi.advanceTimersByTime(ms);
    return attempts.length;
  });
  expect(counts).toEqual([1, 2, 2, 3, 3, 4]);
  expect(aborted()).toEqual([false, false, false, false]);
});

test("the first success wins: the others are aborted, and what they still produce is discarded", async () => {
  const { answerOf, aborted, discarded, result } = byHand();
  vi.advanceTimersByTime(300);
  answerOf(1).resolve("second");
  expect(await result).toBe("second");
  expect(aborted()).toEqual([true, false, true]);
  answerOf(0).resolve("first");
  answerOf(2).reject(new Error("aborted"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(discarded).toEqual(["first"]);
  expect(aborted()).toHaveLength(3);
});

test("a failure counts when there is no other attempt, and a final one at once", async () => {
  const refused = byHand();
  refused.answerOf(0).reject(new Error("connection refused"));
  await expect(refused.result).rejects.toThrow("connection refused");
  const silent = byHand();
  vi.advanceTimersByTime(100);
  silent.answerOf(1).reject(new Error("connection refused"));
  await vi.advanceTimersByTimeAsync(0);
  silent.answerOf(0).reject(new Error("connection reset"));
  await expect(silent.result).rejects.toThrow("connection reset");
  const forbidden = byHand();
  vi.advanceTimersByTime(100);
  forbidden.answerOf(1).reject(new RangeError("log in first"));
  await expect(forbidden.result).rejects.toThrow("log in first");
  expect(forbidden.aborted()).toEqual([true, false]);
  vi.advanceTimersByTime(10_000);
  expect([refused, silent, forbidden].map(({ attempts }) => attempts.length)).toEqual([1, 2, 2]);
});

test("a caller that gives up ends all attempts", async () => {
  const { answerOf, aborted, discarded, caller } = byHand();
  vi.advanceTimersByTime(100);
  caller.abort();
  vi.advanceTimersByTime(10_000);
  expect(aborted()).toEqual([true, true]);
  answerOf(0).resolve("late");
  await vi.advanceTimersByTimeAsync(0);
  expect(discarded).toEqual(["late"]);
});
