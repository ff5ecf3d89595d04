import { expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { isOutage, plainWords } from "../../../../src/web/machines/outage.ts";

test.each(["remote_unreachable", "remote_timeout"] as const)("%s is an outage with a sentence", (code) => {
  const error = new ServiceError(code, "remote web is out of reach: ECONNREFUSED");
  expect(isOutage(error)).toBe(true);
  expect(plainWords(error)).toMatch(/^The machine .+\.$/);
});

test("other failures speak for themselves", () => {
  for (const error of [new ServiceError("session_not_found", "no session 1"), new Error("no"), undefined]) {
    expect([isOutage(error), plainWords(error)]).toEqual([false, undefined]);
  }
});
