import { concatBytes } from "../lib/data/collect.ts";

const NOTHING = new Uint8Array(0);

/**
 * Splits output only between UTF-8 characters: VibeTunnel's clients decode each STDOUT frame separately, and xterm.js 6 loses
 * some characters that are split over two writes. Holds at most 3 bytes.
 */
export class WholeCharacters {
  #held: Uint8Array = NOTHING;

  /** The beginning of an incomplete character. */
  get held(): Uint8Array {
    return this.#held;
  }

  /** The complete characters; the same array if nothing is held. */
  take(bytes: Uint8Array): Uint8Array {
    const all = this.#held.length === 0 ? bytes : concatBytes([this.#held, bytes]);
    const cut = all.length - incompleteUtf8Bytes(all);
    // Not slice, which is a view of a Buffer.
    this.#held = cut === all.length ? NOTHING : new Uint8Array(all.subarray(cut));
    return cut === all.length ? all : all.subarray(0, cut);
  }

  /** The held bytes, at the end of the output. */
  rest(): Uint8Array {
    const rest = this.#held;
    this.#held = new Uint8Array(0);
    return rest;
  }
}

/** Number of bytes of an incomplete UTF-8 character at the end: 0 to 3. Invalid bytes do not count. */
export function incompleteUtf8Bytes(bytes: Uint8Array): number {
  const furthest = Math.max(0, bytes.length - 3);
  for (let at = bytes.length - 1; at >= furthest; at--) {
    const byte = bytes[at] ?? 0;
    if (isContinuation(byte)) continue;
    const available = bytes.length - at;
    return available < characterBytes(byte) ? available : 0;
  }
  return 0;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Length in bytes of the character with this first byte. */
function characterBytes(first: number): number {
  if ((first & 0xe0) === 0xc0) return 2;
  if ((first & 0xf0) === 0xe0) return 3;
  return (first & 0xf8) === 0xf0 ? 4 : 1;
}
