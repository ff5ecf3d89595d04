import fc from "fast-check";
import { expect, test } from "vitest";
import { safeInput } from "../../../../../src/web/terminal/emulator/bracketed-paste.ts";

const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

test("pasted text cannot end the paste, after which it would count as typed", () => {
  expect(safeInput(`${BEGIN}echo hi${END}rm -rf ~\r${END}`)).toBe(`${BEGIN}echo hi␛[201~rm -rf ~\r${END}`);
  fc.assert(
    fc.property(fc.array(fc.constantFrom("\x1b", "[20", "1~", "\x9b201~", "a")), (parts) => {
      const pasted = safeInput(BEGIN + parts.join("") + END);
      expect(pasted.startsWith(BEGIN) && pasted.endsWith(END)).toBe(true);
      const inner = pasted.slice(BEGIN.length, -END.length);
      expect(["\x1b", "\x9b"].filter((control) => inner.includes(control))).toEqual([]);
    }),
  );
});

test.each(["a", "\x1b[A", "\x1b", "two\rlines", `${END}x`])("%j is sent as it is", (typed) => {
  expect(safeInput(typed)).toBe(typed);
});
