import fc from "fast-check";
import { expect, test } from "vitest";
import { WireReader } from "../../../../src/auth/ssh/wire-reader.ts";
import { wire } from "./key-pair.ts";

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

test("a string is read as RFC 4251 writes it", () => {
  const reader = new WireReader(hex("0000000774657374696e6700000000"));
  expect(Buffer.from(reader.string() ?? []).toString()).toBe("testing");
  expect(reader.isAtEnd).toBe(false);
  expect(reader.string()).toEqual(new Uint8Array());
  expect(reader.isAtEnd).toBe(true);
});

test.each([
  ["no length", ""],
  ["half a length", "0000"],
  ["a length of more than there is", "0000000874657374696e67"],
  ["the longest length", "ffffffff00"],
])("%s is no string, and nothing comes after it", (_, bytes) => {
  const reader = new WireReader(hex(bytes));
  expect(reader.string()).toBeUndefined();
  expect(reader.string()).toBeUndefined();
  expect(reader.isAtEnd).toBe(false);
});

test("a view into a larger buffer is read at its own place", () => {
  const reader = new WireReader(hex("ffff0000000161ffff").subarray(2, 7));
  expect(reader.string()).toEqual(hex("61"));
  expect(reader.isAtEnd).toBe(true);
});

test("strings are read back, and cut short they are not", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array(), { minLength: 1, maxLength: 4 }), fc.nat(), (strings, cut) => {
      const bytes = wire(...strings);
      const reader = new WireReader(bytes);
      expect(strings.map(() => reader.string()?.slice())).toEqual(strings);
      expect(reader.isAtEnd).toBe(true);
      const short = new WireReader(bytes.subarray(0, cut % bytes.length));
      expect(strings.map(() => short.string())).toContain(undefined);
    }),
  );
});

test("any bytes are read to their end or past it, and never throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const reader = new WireReader(bytes);
      let read = 0;
      for (let string = reader.string(); string !== undefined; string = reader.string()) {
        read += 4 + string.length;
      }
      expect(read).toBeLessThanOrEqual(bytes.length);
    }),
  );
});
