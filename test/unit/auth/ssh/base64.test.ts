import fc from "fast-check";
import { expect, test } from "vitest";
import { base64Bytes } from "../../../../src/auth/ssh/public-key.ts";

test("base64 is decoded to the original bytes, also with line breaks", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.constantFrom("", "\n", "\r\n", " ", "\t"), (bytes, gap) => {
      const letters = Buffer.from(bytes).toString("base64").replace(/.{5}/g, `$&${gap}`);
      expect(base64Bytes(letters)).toEqual(bytes);
    }),
  );
});

test.each([
  ["another alphabet", "-_-_"],
  ["a letter of none", "AA*A"],
  ["no padding", "AAAAAA"],
  ["padding in the middle", "AA==AAAA"],
  ["padding of nothing", "===="],
  ["bits beyond the last byte", "AAB="],
  ["a byte beyond ASCII", "AAA\u00e9"],
])("%s is not base64", (_, text) => {
  expect(base64Bytes(text)).toBeUndefined();
});

test("every text is decoded or rejected", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
      const bytes = base64Bytes(text);
      if (bytes !== undefined) {
        expect(Buffer.from(bytes).toString("base64")).toBe(text.replace(/[\t-\r ]/g, ""));
      }
    }),
  );
});
