// The bytes of a RESYNC (contract 1.4): a terminal that was just reset to the same size gets the same screen and state
// from them. @xterm/addon-serialize loses most of the state: underline styles, links, character sets, the scroll region,
// tab stops, the saved cursor, mouse encodings, the other buffer, a cursor that is about to wrap.
//
// No sequence restores half of a wide character that was torn apart by inserting or resizing, a cursor of the alternate
// buffer that is about to wrap behind an empty cell, and columns of the alternate buffer beyond its width. xterm.js does
// not keep the title and changed colours of the palette.
import type { ScreenCharsets } from "./charset.ts";
import type { CoreBuffer, CorePen, ScreenCore } from "./core.ts";
import { type CursorPlan, carryCursor, joinCursor, placeCursor, planCursor } from "./cursor.ts";
import { drawLines } from "./lines.ts";
import type { ScreenLinks } from "./links.ts";
import { ScreenPen } from "./pen.ts";
import { colorWord, EXTENDED, PLAIN, type Style, styleOf, UNDERLINED, underlineStyle } from "./style.ts";

type ScreenParts = {
  readonly core: ScreenCore;
  readonly charsets: ScreenCharsets;
  readonly links: ScreenLinks;
  /** Sequences that set the key encodings in force. */
  readonly keyboard: string;
  readonly cols: number;
  readonly rows: number;
  /** Whether lines behind an alternate screen are drawn; else they are empty. */
  readonly hasHidden: boolean;
};

const ENTER_ALTERNATE = "\x1b[?47h";
const LEAVE_ALTERNATE = "\x1b[?47l";
const DEFAULT_TAB_WIDTH = 8;
const ANY_LINK = ";about:blank";
/** Differs from every style. */
const UNKNOWN: Style = { ...PLAIN, fg: -1 };

export function drawScreen(parts: ScreenParts): string {
  const { core, cols } = parts;
  const pen = new ScreenPen(core, parts.links);
  // A client's xterm.js keeps newline mode when it is reset.
  pen.control("\x1b[20l");
  drawBuffer(pen, core.buffers.normal, parts);
  if (core.buffers.active === core.buffers.alt) {
    pen.style(PLAIN);
    pen.control(`${ENTER_ALTERNATE}\x1b[H`);
    drawBuffer(pen, core.buffers.alt, parts);
  }
  if (core.service.decPrivateModes.origin) pen.control("\x1b[?6h");
  const plan = planCursor(core, cols);
  if (core.buffers.active === core.buffers.normal) visitAlternate(pen, plan, parts);
  drawState(pen, plan, parts);
  return pen.text;
}

/** Lines, saved cursor, tab stops, scroll region; leaves the cursor anywhere. */
function drawBuffer(pen: ScreenPen, buffer: CoreBuffer, parts: ScreenParts): void {
  const { cols, rows, core, hasHidden } = parts;
  const isBelow = buffer.savedY >= buffer.lines.length && buffer === core.buffers.normal;
  const line = Math.max(0, Math.min(buffer.savedY, buffer.lines.length - 1));
  const save = { line, run: () => saveCursor(pen, buffer, parts) };
  const visit = hasSavedCursor(buffer) && !isBelow ? save : undefined;
  if (isBelow) saveCursorBelow(pen, buffer, parts);
  if (hasHidden || buffer === core.buffers.active) drawLines(pen, buffer, cols, rows, visit);
  else if (visit !== undefined) {
    pen.control(`\x1b[${line + 1};1H`);
    visit.run();
  }
  setTabStops(pen, buffer, cols);
  if (buffer.scrollTop !== 0 || buffer.scrollBottom !== rows - 1) {
    pen.control(`\x1b[${buffer.scrollTop + 1};${buffer.scrollBottom + 1}r`);
  }
}

/** A hidden alternate buffer keeps its saved cursor. */
function visitAlternate(pen: ScreenPen, plan: CursorPlan, parts: ScreenParts): void {
  const { core, cols } = parts;
  const hasSaved = hasSavedCursor(core.buffers.alt);
  if (!hasSaved && !plan.isCarried) return;
  pen.style(PLAIN);
  pen.control(ENTER_ALTERNATE);
  if (hasSaved) {
    pen.control(`\x1b[${core.buffers.alt.savedY + 1};1H`);
    saveCursor(pen, core.buffers.alt, parts);
  }
  if (plan.isCarried) carryCursor(pen, core, plan, cols);
  pen.control(LEAVE_ALTERNATE);
}

function drawState(pen: ScreenPen, plan: CursorPlan, parts: ScreenParts): void {
  const { core, charsets, cols, keyboard } = parts;
  const isMovable = !plan.isCarried && (!plan.isPending || plan.isJoining);
  const isRestored = isMovable && needsRestoring(core);
  if (isRestored) {
    pen.control(charsets.sequences(core));
    pen.style(hiddenStyle(core));
    pen.control("\x1b8");
    pen.assume(isPenSaved(core) ? penStyle(core) : UNKNOWN);
  }
  placeCursor(pen, core, plan, cols);
  if (!isRestored) pen.control(charsets.sequences(core));
  pen.control(modeSequences(core) + keyboard);
  pen.style(penStyle(core));
  joinCursor(pen, core, plan);
}

function hasSavedCursor({ savedX, savedY, savedCurAttrData: { fg, bg }, savedCharset }: CoreBuffer): boolean {
  return savedX !== 0 || savedY !== 0 || fg !== 0 || bg !== 0 || savedCharset !== undefined;
}

/** The cursor is in the row in which it was saved; all sets are ASCII before and after. */
function saveCursor(pen: ScreenPen, buffer: CoreBuffer, { charsets, links }: ScreenParts): void {
  const { savedX, savedCurAttrData, savedCharset } = buffer;
  const style = styleOf(savedCurAttrData, undefined);
  // The saved state has no link id: restoring takes the link that is open then.
  const isInLink = (savedCurAttrData.bg & EXTENDED) !== 0 && style.underline === 0;
  pen.style(isInLink ? { ...style, link: links.idOf(ANY_LINK) ?? 0 } : style);
  pen.column(savedX);
  if (savedCharset !== undefined) pen.control(charsets.designate(0, savedCharset));
  pen.control("\x1b7");
  if (savedCharset !== undefined) pen.control(charsets.designate(0, undefined));
}

/** It was saved in a line below the buffer, whose scrollback was cleared since. */
function saveCursorBelow(pen: ScreenPen, buffer: CoreBuffer, parts: ScreenParts): void {
  pen.control("\n".repeat(buffer.savedY));
  saveCursor(pen, buffer, parts);
  pen.style(PLAIN);
  pen.control("\x1b[H\x1b[2J\x1b[3J");
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

/** With the underline colour, which the pen keeps without an underline. */
function penStyle({ input: { _curAttrData: pen } }: ScreenCore): Style {
  return { ...styleOf(pen, pen.extended), underlineColor: colorWord(pen.extended.underlineColor) };
}

/** With the hidden state of the pen. */
function hiddenStyle(core: ScreenCore): Style {
  const { extended } = core.input._curAttrData;
  return { ...penStyle(core), underline: underlineStyle(extended), link: extended.urlId };
}

/** xterm.js restores a cursor with inconsistent sets, underlines or links. Only restoring it again reproduces that state. */
export function needsRestoring(core: ScreenCore): boolean {
  if (core.buffers.active.savedCharset !== core.charsets.charset) return false;
  return (
    core.charsets.charset !== core.charsets._charsets[core.charsets.glevel] ||
    (isPenSaved(core) && !isConsistent(core.input._curAttrData))
  );
}

export function isPenSaved({ input: { _curAttrData: pen }, buffers }: ScreenCore): boolean {
  const { savedCurAttrData: saved } = buffers.active;
  return saved.fg === pen.fg && saved.bg === pen.bg;
}

export function isConsistent({ fg, bg, extended }: CorePen): boolean {
  const style = underlineStyle(extended);
  const isUnderlined = (fg & UNDERLINED) !== 0;
  const isExtended = (bg & EXTENDED) !== 0;
  return isUnderlined === (style !== 0) && isExtended === (style !== 0 || extended.urlId !== 0);
}

const MOUSE_PROTOCOLS: Readonly<Record<string, number>> = { X10: 9, VT200: 1000, DRAG: 1002, ANY: 1003 };
const MOUSE_ENCODINGS: Readonly<Record<string, number>> = { SGR: 1006, SGR_PIXELS: 1016 };
/** The parameter of DECSCUSR for a blinking cursor; one more is steady. */
const CURSOR_STYLES = { block: 1, underline: 3, bar: 5 } as const;
/** The program chose only whether the cursor blinks. */
const ANY_CURSOR_STYLE = 7;

/** Without synchronized output (2026), which would hide the screen, and origin mode (6), which moves the cursor. */
function modeSequences(core: ScreenCore): string {
  const { mouse, service } = core;
  const modes = service.decPrivateModes;
  return [
    core.service.modes.insertMode ? "\x1b[4h" : "",
    core.options.convertEol ? "\x1b[20h" : "",
    // A client's xterm.js keeps a hidden cursor when it is reset.
    core.service.isCursorHidden ? "\x1b[?25l" : "\x1b[?25h",
    core.options.cursorBlink ? "\x1b[?12h" : "",
    modes.wraparound ? "" : "\x1b[?7l",
    modes.reverseWraparound ? "\x1b[?45h" : "",
    modes.applicationCursorKeys ? "\x1b[?1h" : "",
    modes.applicationKeypad ? "\x1b=" : "",
    modes.bracketedPasteMode ? "\x1b[?2004h" : "",
    modes.sendFocus ? "\x1b[?1004h" : "",
    privateMode(MOUSE_PROTOCOLS[mouse.activeProtocol]),
    privateMode(MOUSE_ENCODINGS[mouse.activeEncoding]),
    cursorStyle(core),
  ].join("");
}

function privateMode(number: number | undefined): string {
  return number === undefined ? "" : `\x1b[?${number}h`;
}

function cursorStyle({ service }: ScreenCore): string {
  const { cursorStyle: style, cursorBlink } = service.decPrivateModes;
  if (cursorBlink === undefined) return "";
  const blinking = style === undefined ? ANY_CURSOR_STYLE : CURSOR_STYLES[style];
  return `\x1b[${cursorBlink ? blinking : blinking + 1} q`;
}
