// Where parsing may go on when a long stretch of plain output is left out.

import { BLOCK_BYTES, type ScreenFile } from "./file.ts";
import { colorLength, MAX_COLOR_BYTES } from "./plain-output.ts";

const LF = 0x0a;
const CR = 0x0d;
const ESC = 0x1b;
/** Colour sequences since the last reset; with more of them the output is parsed. */
const MAX_COLORS = 1_000;

export type Shortcut = {
  /** Of a line feed in the first column of the last row. */
  readonly offset: number;
  /** Sequences that set the colours in force there. */
  readonly colors: Uint8Array;
};

/**
 * In plain output: the place before the last `lines` lines, after at least `rows` others. From there on every line of
 * the terminal is new, as the whole screen has scrolled.
 */
export function findShortcut(
  file: ScreenFile,
  place: { from: number; to: number; lines: number; rows: number; hasColors: boolean },
): Shortcut | undefined {
  const { from, to, lines, rows, hasColors } = place;
  const offset = lineFrom(file, from, to, lines);
  if (offset === undefined || !hasLines(file, from, offset, rows)) return undefined;
  const colors = hasColors ? colorsAt(file, from, offset) : new Uint8Array(0);
  return colors === undefined ? undefined : { offset, colors };
}

/** The last CR LF after which there are `count` more line feeds, or the one before it: the offset of its LF. */
function lineFrom(file: ScreenFile, from: number, to: number, count: number): number | undefined {
  let left = count;
  for (let end = to; end > from; ) {
    const start = Math.max(from, end - BLOCK_BYTES);
    const bytes = file.read(start, end - start);
    let at = bytes.lastIndexOf(LF);
    for (; at > 0; at = bytes.lastIndexOf(LF, at - 1)) {
      if (left <= 0 && bytes[at - 1] === CR) return start + at;
      left--;
    }
    if (at === 0) left--;
    end = start;
  }
  return undefined;
}

/** Only within one block: with longer lines a shortcut gains nothing. */
function hasLines(file: ScreenFile, from: number, to: number, count: number): boolean {
  const bytes = file.read(from, Math.min(to - from, BLOCK_BYTES));
  let left = count;
  for (let at = bytes.indexOf(LF); at !== -1 && left > 0; at = bytes.indexOf(LF, at + 1)) left--;
  return left <= 0;
}

/** The colour sequences from the last reset on; undefined if there are too many. */
function colorsAt(file: ScreenFile, from: number, to: number): Uint8Array | undefined {
  const colors: Buffer[] = [];
  for (let end = to; end > from; ) {
    const start = Math.max(from, end - BLOCK_BYTES);
    const bytes = file.read(start, Math.min(to, end + MAX_COLOR_BYTES) - start);
    const lastBefore = (place: number): number => bytes.subarray(0, place).lastIndexOf(ESC);
    for (let at = lastBefore(end - start); at !== -1; at = lastBefore(at)) {
      const color = Buffer.from(bytes.subarray(at, at + (colorLength(bytes, at) ?? 0)));
      colors.unshift(color);
      if (isReset(color)) return Buffer.concat(colors);
      if (colors.length > MAX_COLORS) return undefined;
    }
    end = start;
  }
  return Buffer.concat(colors);
}

/** ESC [ m, or a sequence that begins with the parameter 0. */
function isReset(color: Buffer): boolean {
  return /^0*[;m]/.test(color.toString("latin1", 2));
}
