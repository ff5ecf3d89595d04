import { expect, test } from "vitest";
import { refuseDeep } from "../../../../src/http/request-body.ts";

const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}1${"]".repeat(depth)}`);

test("32 levels are taken, one more is not", () => {
  expect(() => refuseDeep(nested(32))).not.toThrow();
  expect(() => refuseDeep(nested(33))).toThrow("nested deeper than 32 levels");
});

test("what is no object, and what is wide, is no matter", () => {
  for (const value of [
    undefined,
    null,
    1,
    "x".repeat(1_000),
    [],
    {},
    Array(300_000).fill(0),
    { ["__proto__"]: {} },
  ])
    expect(() => refuseDeep(value)).not.toThrow();
});

test("half a million levels exhaust nobody", () => {
  expect(() => refuseDeep(nested(500_000))).toThrow("nested deeper");
});
