import type { ScreenSnapshot } from "../../../protocol/frame/snapshot.ts";
import type { SnapshotCell } from "../../../protocol/frame/snapshot-cell.ts";
import type { CoreLine } from "./core.ts";
import { attributesOf, cellStyle, colorOf } from "./style.ts";
import type { ScreenTerminal } from "./terminal.ts";
import { cellText } from "./text.ts";

/** The visible screen as cells (facts 2). */
export function screenCells(terminal: ScreenTerminal): ScreenSnapshot {
  const { lines, ybase, x, y } = terminal.core.buffers.active;
  const { cols, rows } = terminal.size;
  return {
    cols,
    viewportY: ybase,
    cursorX: x,
    cursorY: y,
    rows: Array.from({ length: rows }, (_, row) => rowCells(lines.get(ybase + row), cols)),
  };
}

function rowCells(line: CoreLine | undefined, cols: number): SnapshotCell[] {
  const cells: SnapshotCell[] = [];
  if (line === undefined) return cells;
  for (let column = 0; column < Math.min(cols, line.length); column++) {
    const text = cellText(line, column);
    if (text === "") continue;
    const style = cellStyle(line, column);
    const attributes = attributesOf(style).reduce((bits, { bit = 0 }) => bits | bit, 0);
    cells.push({ text, attributes, fg: colorOf(style.fg), bg: colorOf(style.bg) });
  }
  return cells;
}
