import fc from "fast-check";
import { expect, test } from "vitest";
import { Histogram } from "../../../../src/lib/data/histogram.ts";

test("a value counts from the first bound on that it does not exceed", () => {
  const histogram = new Histogram([0, 1, 10]);
  for (const value of [0, 0.5, 1, 1.5, 10, 11]) histogram.observe(value);
  expect([histogram.upTo(), histogram.count, histogram.sum]).toEqual([[1, 3, 5], 6, 24]);
});

test("its counts are those of its values, whatever they are", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true })), (values) => {
      const histogram = new Histogram();
      for (const value of values) histogram.observe(value);
      const expected = histogram.bounds.map((bound) => values.filter((value) => value <= bound).length);
      expect(histogram.upTo()).toEqual(expected);
      expect(histogram.count).toBe(values.length);
    }),
  );
});
