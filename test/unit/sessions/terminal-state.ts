// All that can be seen of a terminal, now or through what it does next, as plain data.

import type { CoreBuffer, CoreCharset, CoreLine } from "../../../src/sessions/screen/terminal/core.ts";
import { planCursor } from "../../../src/sessions/screen/terminal/cursor.ts";
import { tornColumns } from "../../../src/sessions/screen/terminal/lines.ts";
import { isConsistent, isPenSaved, needsRestoring } from "../../../src/sessions/screen/terminal/resync.ts";
import { colorWord, PLAIN, type Style, styleOf } from "../../../src/sessions/screen/terminal/style.ts";
import type { ScreenTerminal } from "../../../src/sessions/screen/terminal/terminal.ts";

export function stateOf(terminal: ScreenTerminal): object {
  const { core } = terminal;
  const { synchronizedOutput: _, ...modes } = { synchronizedOutput: false, ...core.service.decPrivateModes };
  const charset = (set: CoreCharset): string => terminal.charsets.designate(0, set);
  const isAlternate = core.buffers.active === core.buffers.alt;
  return {
    isAlternate,
    normal: bufferState(terminal, core.buffers.normal, !isAlternate),
    alternate: isAlternate
      ? bufferState(terminal, core.buffers.alt, true)
      : savedState(terminal, core.buffers.alt),
    modes,
    mouse: [core.mouse.activeProtocol, core.mouse.activeEncoding],
    keyboard: terminal.keyboard.sequences,
    isInserting: core.service.modes.insertMode,
    isCursorHidden: core.service.isCursorHidden,
    isNewLineMode: core.options.convertEol,
    isCursorBlinking: core.options.cursorBlink,
    pen: styleState(terminal, styleOf(core.input._curAttrData, core.input._curAttrData.extended)),
    penUnderlineColor: colorWord(core.input._curAttrData.extended.underlineColor),
    charset: charset(core.charsets.charset),
    charsets: [0, 1, 2, 3].map((level) => charset(core.charsets._charsets[level])),
    charsetLevel: core.charsets.glevel,
    parserState: core.parser.currentState,
    joining: joiningState(core.parser.precedingJoinState),
  };
}

/**
 * False in the corners that no sequence leads to: half of a wide character that was torn apart by inserting columns, a
 * cursor in the alternate screen that is about to wrap behind an empty cell, a character that found no room and is seen
 * nowhere but may be joined, what restoring the cursor left half done.
 */
export function isReproducible(terminal: ScreenTerminal): boolean {
  const { core, size } = terminal;
  const plan = planCursor(core, size.cols);
  if (core.parser.precedingJoinState !== 0 && !plan.isJoining) return false;
  if (!isConsistent(core.input._curAttrData) && !(needsRestoring(core) && isPenSaved(core))) return false;
  if (core.charsets.charset !== core.charsets._charsets[core.charsets.glevel] && !needsRestoring(core))
    return false;
  if (needsRestoring(core) && plan.isPending) return false;
  const isAlternate = core.buffers.active === core.buffers.alt;
  if (isAlternate && plan.isPending && plan.glyph === undefined) return false;
  return (
    !hasOddCells(terminal, core.buffers.normal) && !(isAlternate && hasOddCells(terminal, core.buffers.alt))
  );
}

/** Of a cell's text when it is printed; undefined when it does not come to stand in one cell. */
function widthOf({ core }: ScreenTerminal, text: string): number | undefined {
  let state = 0;
  for (const [index, character] of [...text].entries()) {
    state = core.unicode.charProperties(character.codePointAt(0) ?? 0, state);
    if (index > 0 && (state & 1) === 0) return undefined;
  }
  return (state >> 1) & 3;
}

function hasOddCells(terminal: ScreenTerminal, { lines }: CoreBuffer): boolean {
  const { cols } = terminal.size;
  for (let index = 0; index < lines.length; index++) {
    const line = lines.get(index);
    if (line !== undefined && tornColumns(line, cols).slice(0, 2).join() === "0,1") return true;
    if (line !== undefined && line.length > cols) return true;
    for (let column = 0; line !== undefined && column < cols; column++) {
      const isHalf = line.getWidth(column) === 0 && line.hasContent(column) === 0;
      if (isHalf && (column === 0 || line.getWidth(column - 1) !== 2)) return true;
      const isHalved =
        column + 1 === cols || line.getWidth(column + 1) !== 0 || line.hasContent(column + 1) !== 0;
      if (line.getWidth(column) === 2 && isHalved) return true;
      if (
        line.hasContent(column) !== 0 &&
        widthOf(terminal, line.getString(column)) !== line.getWidth(column)
      )
        return true;
    }
  }
  return false;
}

/** What of it decides whether the next character joins: class of the last one, width of both; not how it came about. */
function joiningState(state: number): object {
  return { isJoining: state !== 0, kind: (state >> 3) & 0xf, width: (state >> 1) & 3 };
}

function bufferState(terminal: ScreenTerminal, buffer: CoreBuffer, isActive: boolean): object {
  const { cols } = terminal.size;
  const lines = Array.from({ length: buffer.lines.length }, (_, index) => {
    const line = buffer.lines.get(index);
    return line === undefined ? "none" : lineState(terminal, line, cols);
  });
  return {
    lines,
    scrollback: buffer.ybase,
    ...(isActive ? { x: buffer.x, y: buffer.y } : {}),
    region: [buffer.scrollTop, buffer.scrollBottom],
    tabs: Object.keys(buffer.tabs)
      .map(Number)
      .filter((column) => column < cols && buffer.tabs[column]),
    ...savedState(terminal, buffer),
  };
}

function savedState(terminal: ScreenTerminal, buffer: CoreBuffer): object {
  const { savedX, savedY, savedCurAttrData, savedCharset } = buffer;
  return {
    saved: {
      x: Math.min(savedX, terminal.size.cols - 1),
      y:
        buffer === terminal.core.buffers.normal
          ? Math.max(0, savedY)
          : Math.min(savedY, terminal.size.rows - 1),
      style: styleState(terminal, styleOf(savedCurAttrData, undefined)),
      charset: terminal.charsets.designate(0, savedCharset),
    },
  };
}

function lineState(terminal: ScreenTerminal, line: CoreLine, cols: number): string {
  const cells = Array.from({ length: cols }, (_, column) => cellState(terminal, line, column));
  return `${line.isWrapped ? ">" : "|"}${cells.join("")}`;
}

function cellState(terminal: ScreenTerminal, line: CoreLine, column: number): string {
  const isHalf = line.getWidth(column) === 0 && line.hasContent(column) === 0;
  if (isHalf && column > 0 && line.getWidth(column - 1) === 2) return "<";
  const style = styleOf({ fg: line.getFg(column), bg: line.getBg(column) }, line._extendedAttrs[column]);
  const width = isHalf ? 1 : line.getWidth(column);
  const text = line.hasContent(column) === 0 ? "·" : JSON.stringify(line.getString(column));
  return `${text}${width === 1 ? "" : width}${styleState(terminal, style)}`;
}

function styleState(terminal: ScreenTerminal, style: Style): string {
  if (JSON.stringify(style) === JSON.stringify(PLAIN)) return "";
  const { fg, bg, underline, underlineColor, link } = style;
  const target = link === 0 ? "" : JSON.stringify(terminal.links.sequence(link));
  return `{${(fg >>> 0).toString(16)},${(bg >>> 0).toString(16)},${underline},${underlineColor.toString(16)}${target}}`;
}
