import * as fc from "fast-check";
import { expect, test } from "vitest";
import { lastClearPoint } from "../../../../src/hub/legacy/clear-point.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const ESC = "\x1b";

function history(output: string): { text: string; modes: string } | undefined {
  const bytes = encode(output);
  const found = lastClearPoint(bytes);
  return found && { text: new TextDecoder().decode(bytes.subarray(found.index)), modes: found.modes };
}

test.each([
  `${ESC}c`,
  `${ESC}[2J`,
  `${ESC}[3J`,
  `${ESC}[?47h`,
  `${ESC}[?47l`,
  `${ESC}[?1047h`,
  `${ESC}[?1049h`,
  `${ESC}[?1049l`,
])("the history begins with %j, and includes it and everything after it", (clear) => {
  expect(history(`before \u65e5${clear}after`)).toEqual({ text: `${clear}after`, modes: "" });
  expect(history(`${clear}one${clear}two`)?.text).toBe(`${clear}two`);
});

test.each([
  ["clear(1)", `${ESC}[H${ESC}[2J${ESC}[3J`],
  ["home before it", `${ESC}[1;1H${ESC}[2J`],
  ["erasing the line's rest before it", `${ESC}[J${ESC}[H${ESC}[2J`],
  ["plain colours before it", `${ESC}[m${ESC}[0m${ESC}[2J`],
])("sequences that belong to the clear come with it: %s", (_, sequences) => {
  expect(history(`before${sequences}after`)?.text).toBe(`${sequences}after`);
});

test.each(["", "text", `${ESC}[1J`, `${ESC}[K`, `${ESC}[0J`, `${ESC}[?25h`, "[2J", `${ESC}[22J`])(
  "%j is not a clear",
  (output) => {
    expect(history(`a${output}b`)).toBeUndefined();
  },
);

test("active private modes are set again in the order in which they were last set", () => {
  const before = `${ESC}[?2004h${ESC}[?1h${ESC}[?25l${ESC}[?1;1000h text ${ESC}[?25h`;
  expect(history(`${before}${ESC}[2Jafter`)).toEqual({
    text: `${ESC}[2Jafter`,
    modes: `${ESC}[?2004h${ESC}[?1h${ESC}[?1000h${ESC}[?25h`,
  });
});

test("a reset forgets the modes before it", () => {
  expect(history(`${ESC}[?2004h${ESC}c${ESC}[?1h${ESC}[2J`)).toEqual({
    text: `${ESC}[2J`,
    modes: `${ESC}[?1h`,
  });
});

test("modes that are set after the clear are not set before it", () => {
  expect(history(`${ESC}[2J${ESC}[?2004h`)?.modes).toBe("");
});

test("everything after the last clear is kept, whatever the output is", () => {
  const part = fc.oneof(
    fc.constantFrom(`${ESC}[2J`, `${ESC}c`, `${ESC}[H`, `${ESC}[?1049h`, `${ESC}[?2004h`, "\u65e5", ESC),
    fc.string({ unit: "binary", maxLength: 20 }),
  );
  return fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const output = parts.join("");
      const found = history(output);
      const at = Math.max(
        ...["[2J", "[3J", "c", "[?47h", "[?47l", "[?1047h", "[?1047l", "[?1049h", "[?1049l"].map((end) =>
          output.lastIndexOf(ESC + end),
        ),
      );
      expect(found === undefined).toBe(at === -1);
      if (found === undefined) return;
      expect(new TextDecoder().decode(encode(output)).endsWith(found.text)).toBe(true);
      expect(encode(found.text).length).toBeGreaterThanOrEqual(encode(output.slice(at)).length);
    }),
    { numRuns: 500 },
  );
});
