import fc from "fast-check";
import { expect, test } from "vitest";
import { fitsWildcard } from "../../../src/lib/wildcard.ts";

test.each([
  ["", "", true],
  ["", "*", true],
  ["", "?", false],
  ["a", "", false],
  ["abc", "abc", true],
  ["abc", "a?c", true],
  ["abc", "a*", true],
  ["abc", "*c", true],
  ["abc", "*b*", true],
  ["abc", "**a**b**c**", true],
  ["abc", "a?", false],
  ["abc", "*d*", false],
  ["ababac", "*aba?", true],
  ["aab", "*ab", true],
  ["a.b", "a[.]b", false],
])("whether %j fits %j is %s", (text, pattern, fits) => {
  expect(fitsWildcard(text, pattern)).toBe(fits);
});

test("a pattern fits what a regular expression of the same meaning fits", () => {
  const few = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), maxLength: 8 });
  fc.assert(
    fc.property(few, pattern, (text, each) => {
      const source = each.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
      expect(fitsWildcard(text, each)).toBe(new RegExp(`^${source}$`, "s").test(text));
    }),
    { numRuns: 2_000 },
  );
});

test("a pattern of many stars takes no longer for it", () => {
  const startedAt = performance.now();
  expect(fitsWildcard("a".repeat(500), `${"*a".repeat(400)}b`)).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});
