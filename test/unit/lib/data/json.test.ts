import { expect, test } from "vitest";
import { parseShallowJson } from "../../../../src/lib/data/json.ts";

const nested = (depth: number): string => `${"[".repeat(depth)}1${"]".repeat(depth)}`;

test("32 levels are taken, one more is not", () => {
  expect(() => parseShallowJson(nested(32))).not.toThrow();
  expect(() => parseShallowJson(nested(33))).toThrow(new RangeError("nested deeper than 32 levels"));
});

test("plain values and wide objects are taken as they are", () => {
  for (const value of [null, 1, "x".repeat(1_000), [], {}, Array(300_000).fill(0)])
    expect(parseShallowJson(JSON.stringify(value))).toEqual(value);
  expect(() => parseShallowJson('{"__proto__":{}}')).not.toThrow();
});

test("half a million levels are refused without exhausting the stack", () => {
  expect(() => parseShallowJson(nested(500_000))).toThrow("nested deeper");
});
