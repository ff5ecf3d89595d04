import { expect, test } from "vitest";
import { KeyboardModes } from "../../../src/protocol/keyboard-modes.ts";

/** Modes after sequences such as `>1u`. */
function after(...sequences: readonly string[]): KeyboardModes {
  const modes = new KeyboardModes();
  const seen = new Map<string, (first: number, second: number) => void>();
  modes.follow(({ prefix = "", final }, act) => void seen.set(prefix + final, act));
  for (const sequence of sequences) {
    const [, prefix = "", numbers = "", final = ""] = /^([<=>])([\d;]*)([um])$/.exec(sequence) ?? [];
    const [first = 0, second = 0] = numbers.split(";").map(Number);
    seen.get(prefix + final)?.(first, second);
  }
  return modes;
}

test("flags are pushed and popped, and without any left none are in force", () => {
  expect(after(">1u").flags).toBe(1);
  expect(after(">1u", ">0u").flags).toBe(0);
  expect(after(">1u", ">0u", "<u").flags).toBe(1);
  expect(after(">1u", ">0u", "<2u").flags).toBe(0);
  expect(after("<9u", ">1u", "<u").flags).toBe(0);
});

test("flags are replaced, added and removed in place", () => {
  expect(after("=1u").flags).toBe(1);
  expect(after("=1;2u", "=0;2u").flags).toBe(1);
  expect(after("=1u", "=1;3u").flags).toBe(0);
});

test("flags that are not supported are not reported", () => {
  expect(after(">31u").flags).toBe(1);
  expect(after(">30u")).toMatchObject({ flags: 0, isDisambiguating: false });
});

test("flags that a program pushes without end are bounded", () => {
  const modes = after(...Array.from({ length: 10_000 }, () => ">1u"));
  expect(modes.sequences.length).toBeLessThan(100);
});

test.each([[">1u"], ["=1u", ">0u", ">1u"], [">1u", "<u", ">4;2m"], [">4;1m", ">1u", ">4;0m"]])(
  "its sequences lead to the same modes after %s",
  (...sequences) => {
    const modes = after(...sequences);
    const again = after(...modes.sequences.split("\x1b[").slice(1));
    for (const each of ["flags", "otherKeys", "sequences"] as const) expect(again[each]).toBe(modes[each]);
  },
);

test("a reset turns everything off", () => {
  const modes = after(">1u", ">4;2m");
  modes.reset();
  expect([modes.flags, modes.otherKeys, modes.sequences]).toEqual([0, 0, ""]);
});
