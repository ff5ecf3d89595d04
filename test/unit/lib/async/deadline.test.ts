import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { isTimeout, withDeadline } from "../../../../src/lib/async/deadline.ts";

const never = new Promise<never>(() => {});

test("a result in time is returned", async () => {
  expect(await withDeadline(Promise.resolve("done"), 10_000, "work")).toBe("done");
});

test("a failure in time keeps its error", async () => {
  const error = new Error("broken");
  await expect(withDeadline(async () => Promise.reject(error), 10_000, "work")).rejects.toBe(error);
});

test("late work fails with a timeout that names it", async () => {
  const late = await withDeadline(never, 1, "the answer of host-1").catch((error: unknown) => error);
  expect(isTimeout(late)).toBe(true);
  expect(String(late)).toContain("the answer of host-1 took longer than 1 ms");
});

test("late work is told to stop", async () => {
  const reasons: unknown[] = [];
  const work = (signal: AbortSignal): Promise<never> => {
    signal.addEventListener("abort", () => reasons.push(signal.reason));
    return never;
  };
  const late = await withDeadline(work, 1, "work").catch((error: unknown) => error);
  expect(reasons).toEqual([late]);
});

test("the caller's signal ends the wait with its reason, before the deadline", async () => {
  const stop = new AbortController();
  const waiting = withDeadline(never, 10_000, "work", stop.signal);
  const reason = new Error("shutting down");
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test("work is not started for a caller whose signal has aborted", async () => {
  let isStarted = false;
  const work = async (): Promise<void> => {
    isStarted = true;
  };
  await expect(withDeadline(work, 10_000, "work", AbortSignal.abort("gone"))).rejects.toBe("gone");
  expect(isStarted).toBe(false);
});

test("nothing is left listening to the caller's signal", async () => {
  const stop = new AbortController();
  await withDeadline(Promise.resolve(), 10_000, "work", stop.signal);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});

test("no timer is left running once the wait is over", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  await withDeadline(Promise.resolve(), 10_000, "work");
  expect(timers()).toBe(before);
});

test("a late failure of abandoned work is no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const work = Promise.withResolvers<void>();
  await withDeadline(work.promise, 1, "work").catch(() => {});
  work.reject(new Error("late"));
  // Unhandled rejections are told after the microtasks of a turn, so two turns are enough to know.
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
