// One cell of a SNAPSHOT_VT (facts 2.3 and 2.4).

export const CellAttribute = {
  Bold: 0x01,
  Italic: 0x02,
  Underline: 0x04,
  Dim: 0x08,
  Inverse: 0x10,
  Invisible: 0x20,
  Strikethrough: 0x40,
} as const;

/** An index of the palette, 0 to 255, or red, green and blue of 0 to 255 each; the default colour is `undefined`. */
export type CellColour = number | { readonly r: number; readonly g: number; readonly b: number };

export type SnapshotCell = {
  /** A whole grapheme. The second half of a wide character is no cell. Over 255 bytes of UTF-8 it is cut. */
  readonly text: string;
  readonly fg?: CellColour | undefined;
  readonly bg?: CellColour | undefined;
  readonly attributes: number;
};

const MAX_TEXT_BYTES = 255;

export const CellBit = {
  Styled: 0x80,
  Utf8: 0x40,
  HasFg: 0x20,
  HasBg: 0x10,
  RgbFg: 0x08,
  RgbBg: 0x04,
  /** 0: a space. */
  Kind: 0x03,
} as const;
const KIND_ASCII = 1;
const KIND_UTF8 = 2;

const encoder = new TextEncoder();

/** Upper bound: a UTF-16 unit has at most 3 bytes of UTF-8. */
export function maxCellBytes(cell: SnapshotCell): number {
  const styleBytes = 1 + 3 + 3;
  return 2 + Math.min(3 * cell.text.length, MAX_TEXT_BYTES) + styleBytes;
}

export function isSpace(cell: SnapshotCell): boolean {
  return cell.text === " " || cell.text === "";
}

/** Writes the cell at `start`; returns the index after it. */
export function writeCell(target: Uint8Array, start: number, cell: SnapshotCell): number {
  const type = styleBits(cell) | textBits(cell);
  target[start] = type;
  const at = writeText(target, start + 1, cell.text, type);
  if ((type & CellBit.Styled) === 0) return at;
  target[at] = cell.attributes;
  return writeColour(target, writeColour(target, at + 1, cell.fg), cell.bg);
}

/** A letter with a combining mark is UTF-8, not ASCII. */
function textBits(cell: SnapshotCell): number {
  if (isSpace(cell)) return 0;
  return cell.text.length === 1 && cell.text < "\x80" ? KIND_ASCII : CellBit.Utf8 | KIND_UTF8;
}

function styleBits({ fg, bg, attributes }: SnapshotCell): number {
  if (attributes === 0 && fg === undefined && bg === undefined) return 0;
  const fgBits =
    fg === undefined ? 0 : typeof fg === "number" ? CellBit.HasFg : CellBit.HasFg | CellBit.RgbFg;
  const bgBits =
    bg === undefined ? 0 : typeof bg === "number" ? CellBit.HasBg : CellBit.HasBg | CellBit.RgbBg;
  return CellBit.Styled | fgBits | bgBits;
}

function writeText(target: Uint8Array, at: number, text: string, type: number): number {
  if ((type & CellBit.Kind) === 0) return at;
  if ((type & CellBit.Utf8) === 0) {
    target[at] = text.charCodeAt(0);
    return at + 1;
  }
  // encodeInto cuts between code points.
  const { written } = encoder.encodeInto(text, target.subarray(at + 1, at + 1 + MAX_TEXT_BYTES));
  target[at] = written;
  return at + 1 + written;
}

/** RGB(0,0,n) becomes RGB(1,0,n): clients that hold a colour as one number would read it as palette index n. */
function writeColour(target: Uint8Array, at: number, colour: CellColour | undefined): number {
  if (colour === undefined) return at;
  if (typeof colour === "number") {
    target[at] = colour;
    return at + 1;
  }
  const { r, g, b } = colour;
  target[at] = r === 0 && g === 0 ? 1 : r;
  target[at + 1] = g;
  target[at + 2] = b;
  return at + 3;
}
