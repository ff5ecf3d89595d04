const ESC = 0x1b;
const BEL = 0x07;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
/** End or abort a sequence: BEL, CAN and SUB. */
const ENDS = [BEL, 0x18, 0x1a];
/** 133; */
const MARK_PREFIX = [0x31, 0x33, 0x33, 0x3b];
/** Longer titles are ignored. */
const MAX_TITLE_BYTES = 512;
/** ESC ] 0 ; or ESC ] 2 ; */
const PREFIX_BYTES = 4;

/** Marks of a shell integration (OSC 133): C, a command starts; D, it has ended, perhaps with its exit code. */
export type CommandMark =
  | { readonly kind: "started" }
  | { readonly kind: "finished"; readonly exitCode?: number };

/** The last title, marks of commands, and whether a BEL rang that ended no sequence. */
export type ScanResult = {
  readonly title: string | undefined;
  readonly marks: readonly CommandMark[];
  readonly hasBell: boolean;
};

/**
 * Finds window titles (OSC 0 and 2) and marks of commands (OSC 133) in output. It searches the ends of sequences, which are
 * rarer than ESC in coloured output, at the speed of memchr, and from there backwards the beginning.
 */
export class TitleScan {
  /** The end of the last piece, which may have the beginning of a title. */
  #tail: Uint8Array = new Uint8Array(0);

  scan(bytes: Uint8Array): ScanResult {
    const seam = new Uint8Array(this.#tail.length + Math.min(bytes.length, MAX_TITLE_BYTES));
    seam.set(this.#tail);
    seam.set(bytes.subarray(0, MAX_TITLE_BYTES), this.#tail.length);
    const first = scanFrom(seam, this.#tail.length);
    this.#tail = (bytes.length >= MAX_TITLE_BYTES ? bytes : seam).slice(-MAX_TITLE_BYTES);
    if (bytes.length <= MAX_TITLE_BYTES) return first;
    const second = scanFrom(bytes, MAX_TITLE_BYTES);
    return {
      title: second.title ?? first.title,
      marks: [...first.marks, ...second.marks],
      hasBell: first.hasBell || second.hasBell,
    };
  }
}

function scanFrom(bytes: Uint8Array, start: number): ScanResult {
  let title: string | undefined;
  let hasBell = false;
  const marks: CommandMark[] = [];
  for (const end of sequenceEnds(bytes, start)) {
    const begin = sequenceStart(bytes, end);
    const mark = begin === -1 ? undefined : markAt(bytes, begin, end);
    if (begin === -1) hasBell ||= bytes[end] === BEL;
    else if (mark === undefined) title = titleAt(bytes, begin, end) ?? title;
    else marks.push(mark);
  }
  return { title, marks, hasBell };
}

/** Positions of BEL and ESC \, in order. */
function sequenceEnds(bytes: Uint8Array, start: number): readonly number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf(BEL, start); at !== -1; at = bytes.indexOf(BEL, at + 1)) ends.push(at);
  const bells = ends.length;
  for (let at = bytes.indexOf(BACKSLASH, start); at !== -1; at = bytes.indexOf(BACKSLASH, at + 1)) {
    if (bytes[at - 1] === ESC) ends.push(at - 1);
  }
  return bells === 0 || bells === ends.length ? ends : ends.sort((a, b) => a - b);
}

/** Position of the ESC ] of the sequence that ends at `end`, or -1. */
function sequenceStart(bytes: Uint8Array, end: number): number {
  const from = Math.max(0, end - MAX_TITLE_BYTES);
  const before = bytes.subarray(from, end);
  const begin = before.lastIndexOf(ESC);
  if (begin === -1 || before[begin + 1] !== CLOSING_BRACKET) return -1;
  return ENDS.some((byte) => before.includes(byte, begin)) ? -1 : from + begin;
}

/** OSC 133 ; C and D. */
function markAt(bytes: Uint8Array, begin: number, end: number): CommandMark | undefined {
  if (MARK_PREFIX.some((byte, index) => bytes[begin + 2 + index] !== byte)) return undefined;
  const text = new TextDecoder("latin1").decode(bytes.subarray(begin + 2 + MARK_PREFIX.length, end));
  const [kind, code = ""] = text.split(";");
  if (kind === "C") return { kind: "started" };
  if (kind !== "D") return undefined;
  return /^\d{1,3}$/.test(code) ? { kind: "finished", exitCode: Number(code) } : { kind: "finished" };
}

function titleAt(bytes: Uint8Array, begin: number, end: number): string | undefined {
  const kind = bytes[begin + 2];
  if ((kind !== 0x30 && kind !== 0x32) || bytes[begin + 3] !== 0x3b) return undefined;
  const text = new TextDecoder().decode(bytes.subarray(begin + PREFIX_BYTES, end));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a title with control characters is shown without them
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "");
}
