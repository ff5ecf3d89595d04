import { expect, test } from "vitest";
import { evenRefusal } from "../../../../src/auth/password/even-refusal.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { SLOW_REFUSAL_MEMORY_MS } from "../../../../src/protocol/limits.ts";

const wrong = new ServiceError("invalid_credentials", "wrong");

/** A clock that advances with each pause, and the duration of a login by it. */
function timed() {
  let nowMs = 0;
  const pause = async (ms: number): Promise<void> => {
    nowMs += ms;
  };
  const even = evenRefusal({ stepMs: 100, now: () => nowMs, pause });
  const took = async (workMs: number, outcome: Error | undefined): Promise<number> => {
    const startedMs = nowMs;
    const login = async (): Promise<void> => {
      await pause(workMs);
      if (outcome !== undefined) throw outcome;
    };
    const settled = await even(login).catch((error: unknown) => error);
    expect(settled).toBe(outcome);
    return nowMs - startedMs;
  };
  return { took, pass: pause };
}

test("a success is not delayed", async () => {
  const { took } = timed();
  expect(await took(5, undefined)).toBe(5);
  expect(await took(250, undefined)).toBe(250);
});

test("all refusals take the same time", async () => {
  const { took } = timed();
  for (const workMs of [0, 1, 50, 99.5, 100]) expect(await took(workMs, wrong)).toBe(100);
});

test("after a slow refusal all others take as long, for a while", async () => {
  const { took, pass } = timed();
  expect(await took(230, wrong)).toBe(300);
  expect(await took(1, wrong)).toBe(300);
  expect(await took(120, wrong)).toBe(300);
  await pass(SLOW_REFUSAL_MEMORY_MS);
  expect(await took(1, wrong)).toBe(100);
});

test("the wait is bounded, and internal errors do not lengthen it", async () => {
  const { took } = timed();
  await took(900, new ServiceError("internal_error", "out of reach"));
  expect(await took(1, wrong)).toBe(100);
  expect(await took(5_000, wrong)).toBe(5_000);
  expect(await took(1, wrong)).toBe(400);
});

test("rate_limited is not delayed", async () => {
  const { took } = timed();
  expect(await took(1, new ServiceError("rate_limited", "later"))).toBe(1);
});
