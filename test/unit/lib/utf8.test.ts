import fc from "fast-check";
import { expect, test } from "vitest";
import { incompleteUtf8Bytes } from "../../../src/protocol/whole-characters.ts";

test("text that is cut anywhere lacks what its last character lacks", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), (text, at) => {
      const bytes = new TextEncoder().encode(text);
      const cut = bytes.subarray(0, bytes.length === 0 ? 0 : at % (bytes.length + 1));
      const whole = new TextDecoder().decode(cut, { stream: true });
      expect(incompleteUtf8Bytes(cut)).toBe(cut.length - new TextEncoder().encode(whole).length);
    }),
  );
});

test.each([
  ["nothing", [], 0],
  ["a letter", [0x61], 0],
  ["two of three bytes, the second 80", [0xe2, 0x80], 2],
  ["three of four", [0x61, 0xf0, 0x9f, 0x98], 3],
  ["a continuation that continues nothing", [0x80], 0],
  ["more continuations than there can be", [0xc3, 0xa9, 0xa9], 0],
  ["a byte that begins nothing", [0xff], 0],
])("%s", (_, bytes, expected) => {
  expect(incompleteUtf8Bytes(Uint8Array.from(bytes))).toBe(expected);
});
