// Places the cursor, which may be about to wrap. The next character may join the last one.
import type { CoreLine, ScreenCore } from "./core.ts";
import { glyphStart } from "./lines.ts";
import { joinedWidth, type ScreenPen } from "./pen.ts";
import { cellStyle, isErasable, isSameStyle, PLAIN, styleOf } from "./style.ts";

/** Bits of a join state that decide whether the next character joins. */
const KIND_SHIFT = 3;
const KIND_MASK = 0xf;

export type CursorPlan = {
  readonly glyph?: { readonly column: number; readonly text: string };
  /** The next character wraps. */
  readonly isPending: boolean;
  /** The next character may join the last one, which has to be printed last. */
  readonly isJoining: boolean;
  /** The position is unreachable in the normal buffer: it is set in the alternate one, and kept when that is left. */
  readonly isCarried: boolean;
};

export function planCursor(core: ScreenCore, cols: number): CursorPlan {
  const { x, y } = core.buffers.active;
  const line = cursorLine(core);
  const start = line === undefined ? undefined : glyphStart(line, x);
  const isPending = x >= cols;
  const isOutside =
    core.service.decPrivateModes.origin &&
    (y < core.buffers.active.scrollTop || y > core.buffers.active.scrollBottom);
  const isCarried =
    core.buffers.active === core.buffers.normal && (isOutside || (isPending && start === undefined));
  if (line === undefined || start === undefined) return { isPending, isJoining: false, isCarried };
  const text = line.getString(start);
  const isJoining =
    !isCarried &&
    core.parser.precedingJoinState !== 0 &&
    isLast(core, text) &&
    isSameStyle(cellStyle(line, start), styleOf(core.input._curAttrData, core.input._curAttrData.extended));
  return { glyph: { column: start, text }, isPending, isJoining, isCarried };
}

/** Whether this character leaves the current join state. */
function isLast(core: ScreenCore, text: string): boolean {
  let state = 0;
  for (const character of text) state = core.unicode.charProperties(character.codePointAt(0) ?? 0, state);
  const kind = (joinState: number): number => (joinState >> KIND_SHIFT) & KIND_MASK;
  return (
    kind(state) === kind(core.parser.precedingJoinState) &&
    joinedWidth(state) === joinedWidth(core.parser.precedingJoinState)
  );
}

/** In the alternate buffer, where origin mode has no effect. */
export function carryCursor(pen: ScreenPen, core: ScreenCore, plan: CursorPlan, cols: number): void {
  const { x, y } = core.buffers.active;
  pen.control(`\x1b[${y + 1};${Math.min(x, cols - 1) + 1}H`);
  if (plan.isPending) pen.cell(" ");
}

/** Before the character sets are set, since it prints ASCII. */
export function placeCursor(pen: ScreenPen, core: ScreenCore, plan: CursorPlan, cols: number): void {
  if (plan.isJoining || plan.isCarried) return;
  if (!plan.isPending) place(pen, core, core.buffers.active.x);
  else if (plan.glyph !== undefined) {
    const line = cursorLine(core);
    place(pen, core, plan.glyph.column);
    if (line !== undefined) pen.style(cellStyle(line, plan.glyph.column));
    pen.cell(plan.glyph.text);
  } else placeAtEndOfErased(pen, core, cols);
}

/** Last: prints the character before the cursor again, in its style and all modes. */
export function joinCursor(pen: ScreenPen, core: ScreenCore, plan: CursorPlan): void {
  if (!plan.isJoining || plan.glyph === undefined) return;
  place(pen, core, plan.glyph.column);
  if (core.service.modes.insertMode) {
    // Only the first part of the character inserted columns.
    const first = core.unicode.charProperties(plan.glyph.text.codePointAt(0) ?? 0, 0);
    pen.control(`\x1b[${joinedWidth(first)}P`);
  }
  pen.cell(plan.glyph.text);
}

/** The line was erased behind a cursor that is about to wrap. In a line that scrolled in, the cursor does not wrap. */
function placeAtEndOfErased(pen: ScreenPen, core: ScreenCore, cols: number): void {
  const line = cursorLine(core);
  place(pen, core, cols - 1);
  if (line === undefined || !isErased(line, cols)) return;
  pen.style(PLAIN);
  pen.cell(" ");
  pen.style(cellStyle(line, 0));
  pen.control("\x1b[1K");
}

function isErased(line: CoreLine, cols: number): boolean {
  const style = cellStyle(line, 0);
  for (let column = 0; column < cols; column++) {
    if (line.hasContent(column) !== 0 || !isSameStyle(cellStyle(line, column), style)) return false;
  }
  return isErasable(style);
}

function place(pen: ScreenPen, core: ScreenCore, column: number): void {
  const { y, scrollTop } = core.buffers.active;
  const row = core.service.decPrivateModes.origin ? y - scrollTop : y;
  pen.control(`\x1b[${row + 1};${column + 1}H`);
}

function cursorLine(core: ScreenCore): CoreLine | undefined {
  const { lines, ybase, y } = core.buffers.active;
  return lines.get(ybase + y);
}
