// A quick look at output: how far does it hold nothing but text, line ends and colours? After enough lines of that a
// screen depends on the last of them alone. It has to be many times faster than parsing, so it looks for the few bytes
// that could begin anything else, each at the speed of memchr (a GiB takes about 150 ms with reading it), and never at
// every byte.

const ESC = 0x1b;
const BRACKET = 0x5b;
const COLOR_END = 0x6d;
/** They change the character set. */
const SHIFTS = [0x0e, 0x0f];
/** First byte of U+0080 to U+00BF in UTF-8; the controls end at U+009F. */
const C1_LEAD = 0xc2;
const C1_LAST = 0x9f;
/** Longer sequences are not plain. */
export const MAX_COLOR_BYTES = 128;

export type PlainScan = {
  /** What is before it is plain. */
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
