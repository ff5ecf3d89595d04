import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bearerToken } from "../../../../src/auth/chain.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

test.each([
  ["Bearer abc.def.ghi", "abc.def.ghi"],
  ["bearer   abc", "abc"],
  ["BEARER a-b_c~d+e/f==", "a-b_c~d+e/f=="],
])("%s carries a token", (header, token) => expect(bearerToken(header)).toBe(token));

test.each([undefined, "", "Basic dXNlcjpwYXNz", "Bearerabc", "Negotiate", "Digest a=b", " Bearer abc", "\0"])(
  "%j is left to the other ways",
  (header) => expect(bearerToken(header)).toBeUndefined(),
);

test.each([
  "Bearer",
  "Bearer ",
  "Bearer a b",
  "Bearer a,b",
  "bearer é",
  `Bearer ${"a".repeat(5_000)}`,
  "Bearer a\r\n",
])("%j is malformed", (header) =>
  expect(() => bearerToken(header)).toThrow(expect.objectContaining({ code: "unauthorized" })),
);

test("every failure is a ServiceError, and every result was in the header", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }));
  const header = fc.oneof(
    text,
    text.map((rest) => `Bearer ${rest}`),
    text.map((rest) => `bearer${rest}`),
  );
  return fc.assert(
    fc.property(header, (value) => {
      try {
        const token = bearerToken(value);
        if (token === undefined) return;
        expect(value.toLowerCase().startsWith("bearer ")).toBe(true);
        expect(value.endsWith(` ${token}`)).toBe(true);
        expect(token).toMatch(/^[!-~]+$/);
      } catch (error) {
        expect(error).toBeInstanceOf(ServiceError);
      }
    }),
    { numRuns: 10_000 },
  );
});
