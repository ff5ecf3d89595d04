import { expect, test } from "vitest";
import { ScreenTerminal } from "../../../../../src/sessions/screen/terminal/terminal.ts";
import { screenText } from "../../../../../src/sessions/screen/terminal/text.ts";

function textOf(output: string, view: { scrollback?: boolean; styles?: boolean } = {}): string {
  using terminal = new ScreenTerminal({ cols: 10, rows: 3 });
  terminal.write(new TextEncoder().encode(output));
  return screenText(terminal, { scrollback: false, styles: false, ...view });
}

test("rows are joined, without spaces at their ends and blank rows at the bottom", () => {
  expect(textOf("one   \r\n\r\n  two \x1b[K")).toBe("one\n\n  two");
  expect(textOf("")).toBe("");
});

test("a row that wraps is two", () => {
  expect(textOf("0123456789abc")).toBe("0123456789\nabc");
});

test("lines above the screen appear only with scrollback", () => {
  expect(textOf("1\r\n2\r\n3\r\n4\r\n5")).toBe("3\n4\n5");
  expect(textOf("1\r\n2\r\n3\r\n4\r\n5", { scrollback: true })).toBe("1\n2\n3\n4\n5");
});

test("the text is that of the active screen", () => {
  expect(textOf("shell\x1b[?1049h\x1b[Hfile", { scrollback: true })).toBe("file");
});

test("each character appears once, whatever its width, and gaps are spaces", () => {
  expect(textOf("漢字e\u0301👍\x1b[3;5Hx")).toBe("漢字e\u0301👍\n\n    x");
  expect(textOf("a漢\x1b[2Db")).toBe("ab");
});

test("each attribute has its name", () => {
  const rendered = ["1mA", "0;2mB", "0;3mC", "0;4mD", "0;7mE", "0;8mF", "0;9mG"].map(
    (rendition) => `\x1b[${rendition}`,
  );
  expect(textOf(rendered.join(""), { styles: true })).toBe(
    ["bold", "dim", "italic", "underline", "inverse", "invisible", "strikethrough"]
      .map((name, index) => `[style ${name}]${"ABCDEFG"[index]}[/style]`)
      .join(""),
  );
});

test("colours come first, and adjacent cells of one style are one run", () => {
  expect(textOf("a\x1b[1;3;31;48;2;1;2;3mred\x1b[0mb", { styles: true })).toBe(
    'a[style fg="1" bg="1,2,3" bold italic]red[/style]b',
  );
  expect(textOf("\x1b[4ma\x1b[4:3mb\x1b[38;5;200mc", { styles: true })).toBe(
    '[style underline]ab[/style][style fg="200" underline]c[/style]',
  );
});

test("styled blanks at the end of a row are cut", () => {
  expect(textOf("a\x1b[44m\x1b[K  ", { styles: true })).toBe("a");
  expect(textOf("\x1b[44m a", { styles: true })).toBe('[style bg="4"] a[/style]');
});
