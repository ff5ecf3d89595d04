// Output of nothing but text, line ends and colours: after enough of its lines a screen depends on the last ones alone.
// Scanning must be many times faster than parsing. It therefore searches the few bytes that could begin anything else, each
// at the speed of memchr: a GiB takes about 150 ms with reading.
import { BLOCK_BYTES, type ScreenFile } from "./file.ts";

const LF = 0x0a;
const CR = 0x0d;
const ESC = 0x1b;
const BRACKET = 0x5b;
const COLOR_END = 0x6d;
/** They change the character set. */
const SHIFTS = [0x0e, 0x0f];
/** First byte of U+0080 to U+00BF in UTF-8; the controls end at U+009F. */
const C1_LEAD = 0xc2;
const C1_LAST = 0x9f;
/** Longer sequences are not plain. */
const MAX_COLOR_BYTES = 128;
/** Colour sequences since the last reset; with more of them the output is parsed. */
const MAX_COLORS = 1_000;

type PlainScan = {
  /** Output before it is plain. */
  readonly end: number;
  /** Why it ends there: no more bytes, a sequence whose end is missing, or something that is not plain. */
  readonly stop: "end" | "cut" | "other";
  readonly hasColors: boolean;
};

export function scanPlain(buffer: Buffer): PlainScan {
  const shift = Math.min(...SHIFTS.map((byte) => orLength(buffer.indexOf(byte), buffer)));
  const c1 = firstC1(buffer, shift);
  const limit = Math.min(shift, c1);
  let hasColors = false;
  for (let at = buffer.indexOf(ESC); at !== -1 && at < limit; ) {
    const length = colorLength(buffer, at);
    if (length === undefined) return { end: at, stop: "other", hasColors };
    if (length === 0) return { end: at, stop: "cut", hasColors };
    hasColors = true;
    at = buffer.indexOf(ESC, at + length);
  }
  const isCut = limit === buffer.length - 1 && buffer[limit] === C1_LEAD;
  const stop = limit === buffer.length ? "end" : isCut ? "cut" : "other";
  return { end: limit, stop, hasColors };
}

/** Bytes of the SGR sequence at this ESC: 0 for an incomplete one, undefined for another sequence. */
export function colorLength(bytes: Uint8Array, start: number): number | undefined {
  const end = Math.min(bytes.length, start + MAX_COLOR_BYTES);
  if (start + 1 < end && bytes[start + 1] !== BRACKET) return undefined;
  for (let at = start + 2; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === COLOR_END) return at + 1 - start;
    // Digits, colon and semicolon.
    if (byte < 0x30 || byte > 0x3b) return undefined;
  }
  return end === bytes.length ? 0 : undefined;
}

/** Position of the first two-byte control, complete or not; at most `limit`. */
function firstC1(buffer: Buffer, limit: number): number {
  for (let at = buffer.indexOf(C1_LEAD); at !== -1 && at < limit; at = buffer.indexOf(C1_LEAD, at + 1)) {
    const next = buffer[at + 1];
    if (next === undefined || (next >= 0x80 && next <= C1_LAST)) return at;
  }
  return limit;
}

function orLength(index: number, buffer: Buffer): number {
  return index === -1 ? buffer.length : index;
}

type Shortcut = {
  /** Of a line feed in the first column of the last row. */
  readonly offset: number;
  /** Sequences that set the colours in force there. */
  readonly colors: Uint8Array;
};

/** The place before the last `lines` lines of plain output, after `rows` others: all lines before it have scrolled out. */
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
