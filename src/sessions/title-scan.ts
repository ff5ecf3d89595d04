const ESC = 0x1b;
const BEL = 0x07;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
/** What ends such a sequence, or breaks it off, before its end: BEL, CAN and SUB. */
const ENDS = [BEL, 0x18, 0x1a];
/** A longer title is not one. */
const MAX_TITLE_BYTES = 512;
/** How the sequence begins: ESC ] 0 ; or ESC ] 2 ; */
const PREFIX_BYTES = 4;

/** What was found in a piece of output: the last title, and whether a bell rang that ended no sequence. */
export type ScanResult = { readonly title?: string; readonly hasBell: boolean };

/**
 * Finds the window title (OSC 0 and 2) in a stream of output. It looks for the rare bytes that end such a sequence, at
 * the speed of memchr, and only then backwards for its beginning: an ESC is everywhere in coloured output, these are not.
 */
export class TitleScan {
  /** The end of the last piece, where a title may have begun. */
  #tail: Uint8Array = new Uint8Array(0);

  scan(bytes: Uint8Array): ScanResult {
    const seam = new Uint8Array(this.#tail.length + Math.min(bytes.length, MAX_TITLE_BYTES));
    seam.set(this.#tail);
    seam.set(bytes.subarray(0, MAX_TITLE_BYTES), this.#tail.length);
    const first = scanFrom(seam, this.#tail.length);
    this.#tail = (bytes.length >= MAX_TITLE_BYTES ? bytes : seam).slice(-MAX_TITLE_BYTES);
    if (bytes.length <= MAX_TITLE_BYTES) return first;
    const second = scanFrom(bytes, MAX_TITLE_BYTES);
    const title = second.title ?? first.title;
    const hasBell = first.hasBell || second.hasBell;
    return title === undefined ? { hasBell } : { title, hasBell };
  }
}

function scanFrom(bytes: Uint8Array, start: number): ScanResult {
  let title: string | undefined;
  let last = -1;
  let hasBell = false;
  for (let end = bytes.indexOf(BEL, start); end !== -1; end = bytes.indexOf(BEL, end + 1)) {
    const begin = sequenceStart(bytes, end);
    if (begin === -1) hasBell = true;
    const found = begin === -1 ? undefined : titleAt(bytes, begin, end);
    if (found !== undefined) [title, last] = [found, end];
  }
  for (let end = bytes.indexOf(BACKSLASH, start); end !== -1; end = bytes.indexOf(BACKSLASH, end + 1)) {
    if (bytes[end - 1] !== ESC || end < last) continue;
    const begin = sequenceStart(bytes, end - 1);
    if (begin !== -1) title = titleAt(bytes, begin, end - 1) ?? title;
  }
  return title === undefined ? { hasBell } : { title, hasBell };
}

/** Where the ESC ] of the sequence that ends at `end` stands, or -1. */
function sequenceStart(bytes: Uint8Array, end: number): number {
  const from = Math.max(0, end - MAX_TITLE_BYTES);
  const before = bytes.subarray(from, end);
  const begin = before.lastIndexOf(ESC);
  if (begin === -1 || before[begin + 1] !== CLOSING_BRACKET) return -1;
  return ENDS.some((byte) => before.includes(byte, begin)) ? -1 : from + begin;
}

function titleAt(bytes: Uint8Array, begin: number, end: number): string | undefined {
  const kind = bytes[begin + 2];
  if ((kind !== 0x30 && kind !== 0x32) || bytes[begin + 3] !== 0x3b) return undefined;
  const text = new TextDecoder().decode(bytes.subarray(begin + PREFIX_BYTES, end));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a title with control characters is shown without them
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "");
}
