import { expect, test } from "vitest";
import { clipboardText } from "../../../../../src/web/terminal/emulator/clipboard-write.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

test.each(["c", "", "p", "pc0"])("text for the selection %j is taken", (selection) => {
  expect(clipboardText(`${selection};${base64("héllo\n漢字")}`)).toBe("héllo\n漢字");
});

test.each([
  ["a question for what the clipboard holds", "c;?"],
  ["an order to empty the clipboard", "c;"],
  ["what is no base64", "c;%%%"],
  ["a length that base64 does not have", "c;AAAAA"],
  ["what is no text", `c;${Buffer.of(0xff, 0xfe).toString("base64")}`],
  ["another selection", `x;${base64("text")}`],
  ["more than 1 MiB", `c;${base64("x".repeat(1024 * 1024 + 1024))}`],
])("%s is ignored", (_, data) => {
  expect(clipboardText(data)).toBeUndefined();
});
