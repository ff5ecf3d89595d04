// The bytes of a RESYNC (contract 1.4): written to a terminal that was just reset to the same size they draw the
// screen and leave the terminal in the state in which the output left this one. @xterm/addon-serialize is not enough:
// it loses underline styles, links, character sets, the scroll region, tab stops, the saved cursor, protected cells,
// mouse encodings, the cursor's style, the state of the other buffer and a cursor that is about to wrap, and it mixes
// up erased and printed cells where lines wrap.
import type { ScreenCharsets } from "./screen-charset.ts";
import type { CoreBuffer, ScreenCore } from "./screen-core.ts";
import { type CursorPlan, carryCursor, joinCursor, placeCursor, planCursor } from "./screen-cursor.ts";
import { drawLines } from "./screen-lines.ts";
import type { ScreenLinks } from "./screen-links.ts";
import { modeSequences } from "./screen-modes.ts";
import { ScreenPen } from "./screen-pen.ts";
import { BgFlag, colorWord, FgFlag, PLAIN, type Style, styleOf, underlineStyle } from "./screen-style.ts";

export type ScreenParts = {
  readonly core: ScreenCore;
  readonly charsets: ScreenCharsets;
  readonly links: ScreenLinks;
  readonly cols: number;
  readonly rows: number;
};

const ENTER_ALTERNATE = "\x1b[?47h";
const LEAVE_ALTERNATE = "\x1b[?47l";
const DEFAULT_TAB_WIDTH = 8;

export function drawScreen(parts: ScreenParts): string {
  const { core, cols } = parts;
  const pen = new ScreenPen(core, parts.links);
  // Xterm.js keeps this mode when it is reset.
  pen.control("\x1b[20l");
  drawBuffer(pen, core.normal, parts);
  if (core.active === core.alt) {
    pen.style(PLAIN);
    pen.control(`${ENTER_ALTERNATE}\x1b[H`);
    drawBuffer(pen, core.alt, parts);
  }
  if (core.modes.origin) pen.control("\x1b[?6h");
  const plan = planCursor(core, cols);
  if (core.active === core.normal) visitAlternate(pen, plan, parts);
  drawState(pen, plan, parts);
  return pen.text;
}

/** Lines, saved cursor, tab stops, scroll region; leaves the cursor anywhere. */
function drawBuffer(pen: ScreenPen, buffer: CoreBuffer, parts: ScreenParts): void {
  const { cols, rows } = parts;
  const line = Math.min(buffer.savedY, buffer.lines.length - 1);
  const visit = { line, run: () => saveCursor(pen, buffer, parts) };
  drawLines(pen, buffer, cols, rows, hasSavedCursor(buffer) ? visit : undefined);
  setTabStops(pen, buffer, cols);
  if (buffer.scrollTop !== 0 || buffer.scrollBottom !== rows - 1) {
    pen.control(`\x1b[${buffer.scrollTop + 1};${buffer.scrollBottom + 1}r`);
  }
}

/** What the alternate buffer keeps while it is not shown is its saved cursor. */
function visitAlternate(pen: ScreenPen, plan: CursorPlan, parts: ScreenParts): void {
  const { core, cols } = parts;
  const hasSaved = hasSavedCursor(core.alt);
  if (!hasSaved && !plan.isCarried) return;
  pen.style(PLAIN);
  pen.control(ENTER_ALTERNATE);
  if (hasSaved) {
    pen.control(`\x1b[${core.alt.savedY + 1};1H`);
    saveCursor(pen, core.alt, parts);
  }
  if (plan.isCarried) carryCursor(pen, core, plan, cols);
  pen.control(LEAVE_ALTERNATE);
}

function drawState(pen: ScreenPen, plan: CursorPlan, { core, charsets, cols }: ScreenParts): void {
  const isRestored = needsRestore(core) && !plan.isCarried && (!plan.isPending || plan.isJoining);
  if (isRestored) {
    pen.control(charsets.sequences(core));
    pen.style({ ...penStyle(core), underline: underlineStyle(core.pen.extended) });
    pen.control("\x1b8");
  }
  placeCursor(pen, core, plan, cols);
  if (!isRestored) pen.control(charsets.sequences(core));
  pen.control(modeSequences(core));
  if (!isRestored) pen.style(penStyle(core));
  joinCursor(pen, core, plan);
}

function hasSavedCursor({ savedX, savedY, savedCurAttrData: { fg, bg }, savedCharset }: CoreBuffer): boolean {
  return savedX !== 0 || savedY !== 0 || fg !== 0 || bg !== 0 || savedCharset !== undefined;
}

/** The cursor stands in the row in which it was saved; every set is ASCII before and after. */
function saveCursor(pen: ScreenPen, buffer: CoreBuffer, { charsets }: ScreenParts): void {
  const { savedX, savedCurAttrData, savedCharset } = buffer;
  pen.style(styleOf(savedCurAttrData, undefined));
  pen.column(savedX);
  if (savedCharset !== undefined) pen.control(charsets.designate(0, savedCharset));
  pen.control("\x1b7");
  if (savedCharset !== undefined) pen.control(charsets.designate(0, undefined));
}

function setTabStops(pen: ScreenPen, buffer: CoreBuffer, cols: number): void {
  const columns = Array.from({ length: cols }, (_, column) => column);
  const isUsual = columns.every(
    (column) => (buffer.tabs[column] ?? false) === (column % DEFAULT_TAB_WIDTH === 0),
  );
  if (isUsual) return;
  pen.control("\x1b[3g");
  for (const column of columns.filter((each) => buffer.tabs[each])) {
    pen.column(column);
    pen.control("\x1bH");
  }
}

/** With the underline colour, which the pen keeps where there is no underline. */
function penStyle({ pen }: ScreenCore): Style {
  const { extended } = pen;
  return {
    ...styleOf(pen, extended),
    underlineColor: colorWord(extended.underlineColor),
    link: extended.urlId,
  };
}

/**
 * Restoring the cursor gives xterm.js a character set that was never shifted to, and an underline without its style.
 * Only restoring it once more brings that about.
 */
function needsRestore(core: ScreenCore): boolean {
  const { pen, active } = core;
  const saved = active.savedCurAttrData;
  if (saved.fg !== pen.fg || saved.bg !== pen.bg || active.savedCharset !== core.charset) return false;
  const style = underlineStyle(pen.extended);
  const isUnderlined = (pen.fg & FgFlag.Underline) !== 0;
  const isExtended = (pen.bg & BgFlag.Extended) !== 0;
  const isConsistent =
    isUnderlined === (style !== 0) && isExtended === (style !== 0 || pen.extended.urlId !== 0);
  return !isConsistent || core.charset !== core.charsetOf(core.charsetLevel);
}
