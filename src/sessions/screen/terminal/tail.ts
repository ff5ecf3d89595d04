// The beginning of the control sequence that the parser is in: it brings another terminal into the same state.
import { concatBytes } from "../../../lib/data/collect.ts";

const ESC = 0x1b;
/** States of the parser (VT500 as xterm.js numbers them). */
const GROUND = 0;
const CSI_IGNORE = 6;
const IGNORED_STRING = 7;
const OSC_STRING = 8;

/** Kept at most; a longer sequence is replaced by one without meaning. */
const MAX_TAIL_BYTES = 64 * 1024;
/** An OSC and a DCS that no terminal knows: they ignore everything up to the same end. */
const UNKNOWN_OSC = Uint8Array.of(ESC, 0x5d, 0x21);
const UNKNOWN_DCS = Uint8Array.of(ESC, 0x50, 0x30, 0x3c);
const NONE = new Uint8Array(0);

export class ScreenTail {
  #sequence: Uint8Array = NONE;

  /** `state`: of the parser after these bytes, which end at a whole character. */
  note(bytes: Uint8Array, state: number): void {
    const start = state === GROUND ? bytes.length : sequenceStart(bytes);
    if (start !== undefined) this.#sequence = new Uint8Array(bytes.subarray(start));
    else if (this.#sequence.length <= MAX_TAIL_BYTES) this.#sequence = concatBytes([this.#sequence, bytes]);
  }

  /** The bytes that bring a parser into this state without doing anything. */
  bytes(state: number): Uint8Array {
    const sequence = this.#sequence;
    if (state === IGNORED_STRING) return sequence.subarray(0, 2);
    if (sequence.length > MAX_TAIL_BYTES) return state === OSC_STRING ? UNKNOWN_OSC : UNKNOWN_DCS;
    // The parser has already executed the controls inside these.
    return state <= CSI_IGNORE ? sequence.filter((byte, at) => at === 0 || byte >= 0x20) : sequence;
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
