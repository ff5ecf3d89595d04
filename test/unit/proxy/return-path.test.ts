import fc from "fast-check";
import { expect, test } from "vitest";
import { returnPath } from "../../../src/proxy/own-pages.ts";

test.each([
  "/",
  "/a/b?c=d&e=%2F%2Fx",
  "/sessions/1?view=//x",
  "/a//b",
  "/%5cx",
  "/?next=https://evil.example",
])("after the login the browser returns to %s", (path) => {
  expect(returnPath(path)).toBe(path);
});

test.each([
  ...[
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "",
  ],
  ...[
    "/\t/evil.example",
    "/\n/evil.example",
    " //evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "x",
  ],
  ...[
    "/a/../..//evil.example",
    "/é",
    "/a\r\nset-cookie:x",
    `/${"a".repeat(600)}`,
    undefined,
    "/%2e//evil.example",
  ],
  ...["/.proxy/logout", "/.proxy/login", "/.proxy", "/x/../.proxy/logout"],
])("%j leads to the start page", (path) => {
  expect(returnPath(path)).toBe("/");
});

test("every return path stays on this host", () => {
  const piece = fc.oneof(
    fc.constantFrom("/", "\\", ".", "..", "%2f", "%5c", ":", "@", "evil.example", "\t", "?"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = returnPath(pieces.join(""));
      expect(path.startsWith("/")).toBe(true);
      expect(new URL(path, "https://term.example.com").origin).toBe("https://term.example.com");
    }),
    { numRuns: 2_000 },
  );
});
