import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WINDOW_MS } from "../../../../src/http/limits/rate-limit.ts";
import { SharedCallCounts, TELL_INTERVAL_MS } from "../../../../src/http/limits/shared-call-counts.ts";
import type { SharedCounts } from "../../../../src/lib/data/live-records.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A registry whose minute ends `leftMs` after the start. */
class Registry implements SharedCounts {
  isAway = false;
  readonly #calls = new Map<string, number>();
  #endsAt: number;

  constructor(leftMs: number) {
    this.#endsAt = performance.now() + leftMs;
  }

  async add(_kind: string, calls: ReadonlyMap<string, number>) {
    if (this.isAway) throw new ServiceError("registry_unavailable", "away");
    while (performance.now() >= this.#endsAt) {
      this.#endsAt += WINDOW_MS;
      this.#calls.clear();
    }
    for (const [key, count] of calls) this.#calls.set(key, count + (this.#calls.get(key) ?? 0));
    const total = new Map([...calls.keys()].map((key) => [key, this.#calls.get(key) ?? 0]));
    return { total, leftMs: this.#endsAt - performance.now() };
  }
}

const hqOf = (counts: SharedCounts): SharedCallCounts =>
  new SharedCallCounts({ counts, kind: "api", now: () => performance.now() });

/** Returns how many calls the last one made it. */
function call(hq: SharedCallCounts, times: number, key = "user ada"): number {
  return Math.max(...Array.from({ length: times }, () => hq.increment(key).totalHits));
}

const told = () => vi.advanceTimersByTimeAsync(TELL_INTERVAL_MS);

test("calls at one HQ count at the other after its first call there, for the same caller", async () => {
  const registry = new Registry(WINDOW_MS);
  const [first, second] = [hqOf(registry), hqOf(registry)];
  expect(call(first, 50)).toBe(50);
  await told();
  expect(call(second, 1)).toBe(1);
  await told();
  expect(call(second, 1)).toBe(52);
  expect(call(second, 1, "user bob")).toBe(1);
  await told();
  expect(call(first, 1)).toBe(51);
  await told();
  expect(call(first, 1)).toBe(54);
});

test("all HQs start a new count with the registry's minute", async () => {
  const registry = new Registry(10_000);
  const [first, second] = [hqOf(registry), hqOf(registry)];
  call(first, 50);
  await told();
  expect(first.increment("user ada").resetTime.getTime() - Date.now()).toBe(10_000 - TELL_INTERVAL_MS);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([call(first, 1), call(second, 1)]).toEqual([1, 1]);
  await told();
  // The first one told before the second.
  expect([call(first, 1), call(second, 1)]).toEqual([2, 3]);
});

test("while the registry is unreachable each HQ counts its own calls, and reports them later in the minute", async () => {
  const registry = new Registry(WINDOW_MS);
  const [first, second] = [hqOf(registry), hqOf(registry)];
  registry.isAway = true;
  call(first, 5);
  await told();
  expect(call(first, 1)).toBe(6);
  registry.isAway = false;
  await told();
  call(second, 1);
  await told();
  expect(call(second, 1)).toBe(3);
});
