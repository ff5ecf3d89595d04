import { describe, expect, test } from "vitest";
import { retention, span } from "../../../../src/config/options/span.ts";
import { serve } from "../command-line.ts";

const DAY_MS = 86_400_000;

describe("a time", () => {
  test.each([
    ["20", 20_000],
    ["20s", 20_000],
    ["500ms", 500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["1 H", 3_600_000],
  ])("%s is %i ms", (text, ms) => {
    expect(span("0s", "1h", "2m")(text)).toBe(ms);
  });

  test.each(["", "s", "-1s", "1.5s", "20x", "2h", "61m", "1e3", "999999999d", "20s 5s"])(
    "%s is none",
    (text) => {
      expect(() => span("0s", "1h", "2m")(text)).toThrow(
        new RangeError("must be a time from 0s to 1h, such as 2m"),
      );
    },
  );

  test("that is too short is refused", () => {
    expect(() => span("1s", "1h", "2m")("999ms")).toThrow("must be a time from 1s to 1h, such as 2m");
  });
});

describe("the retention of recordings", () => {
  test.each([
    ["30d", { maxAgeMs: 30 * DAY_MS, maxBytes: undefined }],
    ["10GB", { maxAgeMs: undefined, maxBytes: 10e9 }],
    ["30d,10GB", { maxAgeMs: 30 * DAY_MS, maxBytes: 10e9 }],
    ["10 gib, 2w", { maxAgeMs: 14 * DAY_MS, maxBytes: 10 * 2 ** 30 }],
  ])("%s is an age, a size or both, in any order", (text, value) => {
    expect(retention(text)).toEqual(value);
  });

  test.each([
    "",
    ",",
    "30",
    "0d",
    "30d,",
    "30d,7d",
    "1GB,2GB",
    "1GB,2d,3d",
    "0GB",
    "-1d",
    "30d 10GB",
    "always",
  ])("%j says what it must be", (text) => {
    expect(() => retention(text)).toThrow(
      new RangeError("must be an age, a size or both, each with its unit, such as 30d, 10GB or 30d,10GB"),
    );
  });

  test("is everything by default", () => {
    expect(serve("--no-auth").recording.keep).toBeUndefined();
  });
});

test("a drain delay of more than half the grace period is refused, and so is an invalid value", () => {
  expect(() => serve("--no-auth --grace 10s --drain-delay 6s")).toThrow(
    "--drain-delay is more than half of --grace: nothing would be left for those who are connected",
  );
  expect(() => serve("--no-auth --grace soon")).toThrow("--grace");
  expect(serve("--no-auth --grace 10s --drain-delay 5s")).toMatchObject({
    graceMs: 10_000,
    drainDelayMs: 5_000,
  });
});
