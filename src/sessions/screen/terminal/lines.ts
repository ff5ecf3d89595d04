// Draws the lines of a buffer into an empty terminal, from the top: cells with their styles, erased or printed, and which
// lines continue the one above.
import type { CoreBuffer, CoreLine } from "./core.ts";
import type { ScreenPen } from "./pen.ts";
import {
  cellStyle,
  hasDefaultBackground,
  isBlank,
  isErasable,
  isStyledAlike,
  PLAIN,
  type Style,
} from "./style.ts";

/** Two columns wide by every table of widths. */
const WIDE = "\u3000";

/** No column. */
const ELSEWHERE = -1;

/** Runs with the cursor in the first column of that line, before the line is drawn; must stay in the row. */
export type Visit = { readonly line: number; readonly run: () => void };

/** The cursor is in the upper left corner of a terminal that was just reset. */
export function drawLines(
  pen: ScreenPen,
  buffer: CoreBuffer,
  cols: number,
  rows: number,
  visit?: Visit,
): void {
  let above: CoreLine | undefined;
  for (let index = 0; index < buffer.lines.length; index++) {
    const line = buffer.lines.get(index);
    if (line === undefined) return;
    const isContinued = index + 1 < buffer.lines.length && (buffer.lines.get(index + 1)?.isWrapped ?? false);
    // The step to a wrapped line handles an empty last cell.
    const torn = tornColumns(line, isContinued ? cols - 1 : cols);
    const isVisited = visit?.line === index;
    if (above === undefined) enterFirst(pen, line, cols, rows);
    else enter(pen, above, line, cols, isVisited || torn.length > 0);
    if (isVisited) {
      visit.run();
      pen.control("\r");
    }
    if (torn.length > 0) drawTorn(pen, line, torn);
    drawLine(pen, line, cols);
    above = line;
  }
}

/** A wrapped first line needs a line above, which is created and removed. */
function enterFirst(pen: ScreenPen, line: CoreLine, cols: number, rows: number): void {
  if (!line.isWrapped) return;
  const takeAway = rows === 1 ? "\x1b[3J\r" : "\x1b[H\x1b[M";
  pen.control(`${" ".repeat(cols + 1)}${takeAway}\x1b[X`);
}

/** `isEmptied`: moves to the line before its first cell is drawn. */
function enter(pen: ScreenPen, above: CoreLine, line: CoreLine, cols: number, isEmptied: boolean): void {
  if (!line.isWrapped) {
    pen.plainBackground();
    pen.control("\r\n");
    return;
  }
  const last = above.length < cols ? undefined : glyphStart(above, cols);
  if (last === undefined) wrapFromEmpty(pen, above, cols);
  else if (isEmptied || !wrapsByItself(line)) {
    pen.style(PLAIN);
    pen.cell(" ");
    pen.control("\r\x1b[X");
  }
}

/** Whether printing the first cell wraps without a side effect on the background. */
function wrapsByItself(line: CoreLine): boolean {
  return line.hasContent(0) !== 0 && line.getWidth(0) > 0 && hasDefaultBackground(cellStyle(line, 0));
}

/** A wide character leaves the last column empty, in its style, and wraps. */
function wrapFromEmpty(pen: ScreenPen, above: CoreLine, cols: number): void {
  pen.column(cols - 1);
  pen.style(cellStyle(above, cols - 1));
  pen.cell(WIDE);
  pen.style(PLAIN);
  pen.control(`\r\x1b[${cols}X`);
}

/** The column of the character that ends right before `end`, if any. */
export function glyphStart(line: CoreLine, end: number): number | undefined {
  for (let column = end - 1; column >= Math.max(0, end - 2); column--) {
    if (line.hasContent(column) !== 0)
      return column + Math.max(1, line.getWidth(column)) === end ? column : undefined;
    if (line.getWidth(column) !== 0) return undefined;
  }
  return undefined;
}

function drawLine(pen: ScreenPen, line: CoreLine, cols: number): void {
  const end = Math.min(line.length, cols);
  let at = 0;
  let styled = ELSEWHERE;
  let column = 0;
  while (column < end) {
    const width = drawnWidth(line, column, cols);
    if (width > 0) {
      if (at !== column) pen.column(column);
      if (styled === ELSEWHERE || !isStyledAlike(line, styled, column)) pen.style(cellStyle(line, column));
      styled = column;
      const taken = pen.cell(line.getString(column));
      column += width;
      at = taken === width ? column : ELSEWHERE;
    } else {
      const next = blankEnd(line, column, end, cols);
      drawBlank(pen, cellStyle(line, column), column, next, at);
      styled = ELSEWHERE;
      column = next;
    }
  }
}

/** Columns of the character printed here; 0 without one, and for one without room. */
function drawnWidth(line: CoreLine, column: number, cols: number): number {
  if (line.hasContent(column) === 0) return 0;
  const width = Math.max(1, line.getWidth(column));
  return column + width <= cols ? width : 0;
}

/** The end of a run of blank cells of one style. Halves of torn wide characters count as blank. */
function blankEnd(line: CoreLine, column: number, end: number, cols: number): number {
  let next = column + 1;
  while (next < end && drawnWidth(line, next, cols) === 0 && isStyledAlike(line, column, next)) next++;
  return next;
}

function drawBlank(pen: ScreenPen, style: Style, from: number, to: number, at: number): void {
  if (!isErasable(style) || hasDefaultBackground(style)) return;
  if (at !== from) pen.column(from);
  pen.style(style);
  pen.control(`\x1b[${to - from}X`);
}

/** Empty cells with a style: remains of half-overwritten wide characters. */
export function tornColumns(line: CoreLine, end: number): number[] {
  const torn: number[] = [];
  for (let column = 0; column < Math.min(line.length, end); column++) {
    if (line.hasContent(column) !== 0 || line.getWidth(column) === 0 || isBlank(line, column)) continue;
    if (!isErasable(cellStyle(line, column))) torn.push(column);
  }
  return torn;
}

/**
 * Tears each again: a space over one half of a wide character leaves the other half empty, in the style of the space.
 * From right to left, since the first half is drawn over later; the first column uses the second half, if that is free.
 */
function drawTorn(pen: ScreenPen, line: CoreLine, torn: readonly number[]): void {
  const over = (column: number): number => (column === 0 ? 1 : column - 1);
  const reached = torn.filter((column) => column > 0 || torn[1] !== 1);
  for (const column of reached.toReversed()) {
    pen.style(cellStyle(line, column));
    pen.column(Math.min(column, over(column)));
    pen.cell(WIDE);
    pen.column(over(column));
    pen.cell(" ");
  }
  pen.style(PLAIN);
  for (const column of reached.map(over).filter((each) => !reached.includes(each))) {
    pen.column(column);
    pen.control("\x1b[X");
  }
  pen.control("\r");
}
