import { expect, test } from "vitest";
import { ReceivedOutput } from "../../../../packages/testing/src/terminal/received-output.ts";

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

test("pieces are put together and nobody can change them afterwards", () => {
  const output = new ReceivedOutput(100);
  const piece = bytes(1, 2);
  output.take(10, piece);
  piece.fill(9);
  output.take(12, bytes(3));
  expect([output.first, output.next, output.bytes]).toEqual([10, 13, bytes(1, 2, 3)]);
});

test.each([
  ["missing", 13],
  ["there twice", 11],
])("bytes that are %s are an error", (_, offset) => {
  const output = new ReceivedOutput(100);
  output.take(10, bytes(1, 2));
  expect(() => output.take(offset, bytes(3))).toThrow(
    `output came from byte ${offset} on, where byte 12 was due`,
  );
});

test("the last bytes are held, at least as many as asked for", () => {
  const output = new ReceivedOutput(5);
  for (let offset = 0; offset < 100; offset += 2) output.take(offset, bytes(offset, offset + 1));
  expect(output.bytes).toEqual(bytes(94, 95, 96, 97, 98, 99));
  expect(output.first).toBe(94);
});

test("nothing is held where nothing is asked for", () => {
  const output = new ReceivedOutput(0);
  output.take(0, bytes(1, 2));
  expect([output.first, output.next, output.bytes]).toEqual([2, 2, bytes()]);
});

test("after a jump the kept output begins there", () => {
  const output = new ReceivedOutput(5);
  output.take(0, bytes(1));
  output.skip(50);
  output.take(50, bytes(2));
  expect([output.first, output.bytes]).toEqual([50, bytes(2)]);
});
