import fc from "fast-check";
import { expect, test } from "vitest";
import { readAbsoluteTime } from "../../../../src/auth/ssh/key-options.ts";

const utc = (text: string): number => Date.parse(text) / 1000;

test.each([
  ["20300102Z", utc("2030-01-02T00:00:00Z")],
  ["203001021304Z", utc("2030-01-02T13:04:00Z")],
  ["20300102130405Z", utc("2030-01-02T13:04:05Z")],
  ["20300102130405z", utc("2030-01-02T13:04:05Z")],
  ["20300102utc", utc("2030-01-02T00:00:00Z")],
  ["20300102", utc("2030-01-02T00:00:00")],
  ["203001021304", utc("2030-01-02T13:04:00")],
  ["20300102130405", utc("2030-01-02T13:04:05")],
  ["20300231Z", utc("2030-03-03T00:00:00Z")],
  ["20300102000061Z", utc("2030-01-02T00:01:01Z")],
  ["99991231235959Z", utc("9999-12-31T23:59:59Z")],
])("%s is a time", (text, seconds) => {
  expect(readAbsoluteTime(text)).toBe(seconds);
});

test.each([
  ...["", "Z", "2030", "2030010", "203001021", "2030010213", "2030010213040", "203001021304055"],
  ...[
    "20301301Z",
    "20300001Z",
    "20300100Z",
    "20300132Z",
    "203001022400Z",
    "203001020060Z",
    "20300102000062Z",
  ],
  ...["2030-01-02", "20300102T1304", "20300102 Z", " 20300102", "20300102ZZ", "+1d", "2030 1 2", "0x300102"],
  ...["19700101Z", "19691231Z", "00000000Z"],
])("%j is none", (text) => {
  expect(readAbsoluteTime(text)).toBeUndefined();
});

test("every text is a time after 1970 or rejected, and none makes it throw", () => {
  const near = fc.string({ unit: fc.constantFrom(..."0123456789ZzUTC"), maxLength: 17 });
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: "binary" })), (text) => {
      const seconds = readAbsoluteTime(text);
      if (seconds !== undefined) expect(Number.isSafeInteger(seconds) && seconds > 0).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
