import { expect, test } from "vitest";
import { guestName } from "../../../src/hub/presence.ts";

test.each([
  ["  Ana   Lund ", "Ana Lund"],
  ["Ana\u202e\u2066\u200b\u0000\u001b[31m", "Ana[31m"],
  ["A\u0301\u0302\u0303\u0304\u0305n", "\u00c1\u0302\u0303n"],
  ["first\nsecond\u2028third", "first second third"],
  ["\u202e\u200b \t", ""],
  ["\u{1f600}".repeat(40), "\u{1f600}".repeat(32)],
  ["محمد", "محمد"],
])("a guest who says %j is called %j", (said, name) => {
  expect(guestName(said)).toBe(name);
});
