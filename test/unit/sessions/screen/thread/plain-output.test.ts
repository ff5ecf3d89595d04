import fc from "fast-check";
import { expect, test } from "vitest";
import { colorLength, scanPlain } from "../../../../../src/sessions/screen/thread/plain-output.ts";

const encoder = new TextEncoder();

test.each([
  ["text, line ends and tabs", "one\r\ntwo\n\tthree", "", "end", false],
  ["nothing", "", "", "end", false],
  ["characters of any length", "é 漢 👍 \u00a0", "", "end", false],
  ["controls that change nothing for long", "a\bb\x07c\x0bd\x00e\x7f", "", "end", false],
  ["colours", "\x1b[31mred\x1b[0;1;38:2::1:2:3mbold\x1b[m", "", "end", true],
  ["a cursor movement", "one", "\x1b[2Ktwo", "other", false],
  ["a sequence that only begins like a colour", "a", "\x1b[>4;2m", "other", false],
  ["another sequence after colours", "\x1b[1mone", "\x1b]0;title\x07", "other", true],
  ["a shift to another character set", "one", "\x0etwo", "other", false],
  ["a control of two bytes", "one", "\u009b2K", "other", false],
  ["a colour whose end is missing", "one", "\x1b[38;5", "cut", false],
  ["an escape at the end", "one", "\x1b", "cut", false],
])("%s", (_, plain, rest, stop, hasColors) => {
  const end = encoder.encode(plain).length;
  expect(scanPlain(Buffer.from(plain + rest))).toEqual({ end, stop, hasColors });
});

test("the first byte of a character at the end may begin a control", () => {
  const bytes = Buffer.of(0x61, 0xc2);
  expect(scanPlain(bytes)).toEqual({ end: 1, stop: "cut", hasColors: false });
});

test("a colour of more than 128 bytes is none", () => {
  const long = encoder.encode(`\x1b[${"1;".repeat(80)}m`);
  expect(colorLength(long, 0)).toBeUndefined();
});

test("a scan ends where a byte-by-byte scan ends", () => {
  const piece = fc.constantFrom(
    "text",
    "\r\n",
    "\x1b[32m",
    "\x1b[0m",
    "é",
    "°",
    "漢",
    "\x1b[H",
    "\x0e",
    "\u0085",
    "\x1b",
    "[",
    "m",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const bytes = Buffer.from(pieces.join(""));
      const text = bytes.toString("latin1");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
      const plain = /^(?:[^\x0e\x0f\x1b\xc2]|\xc2[\xa0-\xff]|\xc2(?=[^\x80-\xff])|\x1b\[[0-9:;]*m)*/;
      expect(scanPlain(bytes).end).toBe(plain.exec(text)?.[0].length);
    }),
  );
});
