import { expect, test } from "vitest";
import { CellAttribute } from "../../../../../src/protocol/frame/snapshot-cell.ts";
import { screenCells } from "../../../../../src/sessions/screen/terminal/cells.ts";
import { ScreenTerminal } from "../../../../../src/sessions/screen/terminal/terminal.ts";

function cellsOf(output: string): ReturnType<typeof screenCells> {
  using terminal = new ScreenTerminal({ cols: 4, rows: 2 });
  terminal.write(new TextEncoder().encode(output));
  return screenCells(terminal);
}

const space = { text: " ", attributes: 0 };

test("a snapshot has the visible screen, its first line and the cursor", () => {
  expect(cellsOf("1\r\n2\r\n3\r\nab")).toEqual({
    cols: 4,
    viewportY: 2,
    cursorX: 2,
    cursorY: 1,
    rows: [
      [{ text: "3", attributes: 0 }, space, space, space],
      [{ text: "a", attributes: 0 }, { text: "b", attributes: 0 }, space, space],
    ],
  });
});

test("a wide character is one cell, and so is one with marks", () => {
  expect(cellsOf("漢e\u0301").rows[0]).toEqual([
    { text: "漢", attributes: 0 },
    { text: "e\u0301", attributes: 0 },
    space,
  ]);
});

test("a cursor about to wrap stands behind the last column", () => {
  expect(cellsOf("abcd")).toMatchObject({ cursorX: 4, cursorY: 0 });
});

test("colours and attributes, also of cells that nothing was printed into", () => {
  expect(cellsOf("\x1b[31;1;2;3;4;7;8;9ma\x1b[0;38;2;1;2;3;48;5;200mb\x1b[0;44m\x1b[K").rows[0]).toEqual([
    { text: "a", fg: 1, attributes: Object.values(CellAttribute).reduce<number>((all, bit) => all | bit, 0) },
    { text: "b", fg: { r: 1, g: 2, b: 3 }, bg: 200, attributes: 0 },
    { text: " ", bg: 4, attributes: 0 },
    { text: " ", bg: 4, attributes: 0 },
  ]);
});
