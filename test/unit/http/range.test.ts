import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readRange } from "../../../src/http/routes/session-routes.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

test.each<[string, number, { start: number; end: number } | undefined]>([
  ["bytes=0-0", 10, { start: 0, end: 1 }],
  ["bytes=2-5", 10, { start: 2, end: 6 }],
  ["bytes=2-", 10, { start: 2, end: 10 }],
  ["bytes=2-99", 10, { start: 2, end: 10 }],
  ["bytes=-3", 10, { start: 7, end: 10 }],
  ["bytes=-99", 10, { start: 0, end: 10 }],
  ["bytes=9-9", 10, { start: 9, end: 10 }],
  ["bytes=5-2", 10, undefined],
  ["bytes=1-2,4-5", 10, undefined],
  ["bytes=-", 10, undefined],
  ["bytes= 1-2", 10, undefined],
  ["Bytes=1-2", 10, undefined],
  ["lines=1-2", 10, undefined],
  ["bytes=99999999999999999999-", 10, undefined],
  ["", 10, undefined],
])("%j of %i bytes is %j", (header, length, range) => {
  expect(readRange(header, length)).toEqual(range);
});

test.each([
  ["bytes=10-", 10],
  ["bytes=10-12", 10],
  ["bytes=-0", 10],
  ["bytes=0-0", 0],
  ["bytes=-1", 0],
])("%j of %i bytes cannot be had", (header, length) => {
  expect(() => readRange(header, length)).toThrow(ServiceError);
  expect(() => readRange(header, length)).toThrow(`there are ${length} bytes`);
});

test("without a header there is no range", () => {
  expect(readRange(undefined, 10)).toBeUndefined();
});

test("a range is never empty and lies within the bytes, whatever the header says", () => {
  const number = fc.oneof(
    fc.constant(""),
    fc.nat(20).map(String),
    fc.string({ unit: fc.constantFrom(..."0123456789") }),
  );
  return fc.assert(
    fc.property(number, number, fc.nat(15), (first, last, length) => {
      try {
        const range = readRange(`bytes=${first}-${last}`, length);
        if (range === undefined) return;
        expect(range.start).toBeLessThan(range.end);
        expect(range.end).toBeLessThanOrEqual(length);
      } catch (error) {
        expect(error).toMatchObject({ code: "range_not_satisfiable", details: { length } });
      }
    }),
  );
});
