// The beginning of the control sequence that the parser is in: it brings another terminal into the same state.
import { concatBytes } from "../../../lib/data/collect.ts";

const ESC = 0x1b;
/** States of the parser (VT500 as xterm.js numbers them). */
const GROUND = 0;
const CSI_IGNORE = 6;
const IGNORED_STRING = 7;
const OSC_STRING = 8;

/** A longer sequence is replaced by one without meaning. */
const MAX_TAIL_BYTES = 64 * 1024;
/** An OSC and a DCS that no terminal knows: they ignore everything up to the same end. */
const UNKNOWN_OSC = Uint8Array.of(ESC, 0x5d, 0x21);
const UNKNOWN_DCS = Uint8Array.of(ESC, 0x50, 0x30, 0x3c);
const NONE = new Uint8Array(0);

/** Holds at most 64 KiB of a sequence. */
export class ScreenTail {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  /** What was just parsed, and the state of the parser after it. Bytes end at a whole character. */
  note(bytes: Uint8Array, state: number): void {
    if (state === GROUND) {
      this.#set([]);
      return;
    }
    const start = sequenceStart(bytes);
    if (start !== undefined) this.#set([new Uint8Array(bytes.subarray(start))]);
    else if (this.#length <= MAX_TAIL_BYTES) this.#add(new Uint8Array(bytes));
  }

  /** The bytes that bring a parser into this state without doing anything. */
  bytes(state: number): Uint8Array {
    if (state === GROUND) return NONE;
    const sequence = concatBytes(this.#pieces);
    if (state === IGNORED_STRING) return sequence.subarray(0, 2);
    if (this.#length > MAX_TAIL_BYTES) return state === OSC_STRING ? UNKNOWN_OSC : UNKNOWN_DCS;
    // Controls inside these were obeyed when they came.
    return state <= CSI_IGNORE ? sequence.filter((byte, at) => at === 0 || byte >= 0x20) : sequence;
  }

  #set(pieces: readonly Uint8Array[]): void {
    this.#pieces.length = 0;
    this.#length = 0;
    for (const piece of pieces) this.#add(piece);
  }

  #add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }
}

/** The last character that begins a sequence began this one, whatever came before it. */
function sequenceStart(bytes: Uint8Array): number | undefined {
  const esc = bytes.lastIndexOf(ESC);
  for (let at = bytes.length - 1; at > Math.max(esc, 0); at--) {
    if (bytes[at - 1] === 0xc2 && isIntroducer(bytes[at] ?? 0)) return at - 1;
  }
  return esc === -1 ? undefined : esc;
}

/** DCS, SOS, CSI, OSC, PM and APC as one character of two bytes: C2 and this one. */
function isIntroducer(byte: number): boolean {
  return byte === 0x90 || byte === 0x98 || byte === 0x9b || byte === 0x9d || byte === 0x9e || byte === 0x9f;
}
