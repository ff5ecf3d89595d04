import { expect, test } from "vitest";
import { goAwayNotice } from "../../../src/app/drain.ts";
import { Readiness } from "../../../src/app/readiness.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

test.each([
  [0, { afterMs: 100, jitterMs: 0 }],
  [1, { afterMs: 100, jitterMs: 2 }],
  [500, { afterMs: 100, jitterMs: 1_000 }],
  [100_000, { afterMs: 100, jitterMs: 5_000 }],
])("%i clients are spread so that not all come back at the same instant", (clients, times) => {
  expect(goAwayNotice(clients, 15_000)).toEqual({ ...times, reason: "the server is shutting down" });
});

test("clients leave within the available time, however short", () => {
  for (const forMs of [0, 1, 7, 100, 399, 1_000, 9_999]) {
    const { afterMs, jitterMs } = goAwayNotice(100_000, forMs);
    expect(afterMs + jitterMs).toBeLessThanOrEqual(forMs);
    expect([Number.isInteger(afterMs), Number.isInteger(jitterMs)]).toEqual([true, true]);
  }
});

test("a process is ready while it can serve, and not ready once it drains", () => {
  let obstacle: ServiceError | undefined;
  const left: string[] = [];
  const readiness = new Readiness({ obstacle: () => obstacle, leave: () => void left.push("told") });
  expect(() => readiness.check()).not.toThrow();
  obstacle = new ServiceError("host_unreachable", "there is no session host");
  expect(() => readiness.check()).toThrow("there is no session host");
  obstacle = undefined;
  readiness.drain();
  expect(() => readiness.check()).toThrow("the server is shutting down");
  expect(left).toEqual(["told"]);
});
