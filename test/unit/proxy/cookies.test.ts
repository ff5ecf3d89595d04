import fc from "fast-check";
import { expect, test } from "vitest";
import { cookie, cookiesOf, foreignCookies } from "../../../src/proxy/cookies.ts";

test("cookies are read by name; the first of a name counts", () => {
  const cookies = cookiesOf("a=1; b=2=3;c = 4 ; a=5; =6; lonely; ;d=");
  expect([...cookies]).toEqual([
    ["a", "1"],
    ["b", "2=3"],
    ["c", "4"],
    ["d", ""],
  ]);
  expect(cookiesOf(undefined).size).toBe(0);
});

test("a cookie is for this host, only over TLS and hidden from scripts", () => {
  expect(cookie("__Host-x", "v", 60_500)).toBe(
    "__Host-x=v; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Lax",
  );
  expect(cookie("__Host-x", "", 0)).toContain("Max-Age=0;");
});

test("no header makes reading cookies throw, and our own cookies are not forwarded", () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom("__Host-ttyhq-login=x", " __Host-ttyhq-begun-1=y", "a=b"),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const header = pieces.join(";");
      cookiesOf(header);
      expect(foreignCookies(header) ?? "").not.toMatch(/(?:^|;)\s*__Host-ttyhq-/);
    }),
  );
});
