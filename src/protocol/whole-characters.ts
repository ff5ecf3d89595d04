import { concatBytes } from "../lib/data/collect.ts";

/**
 * Output without a UTF-8 character that is cut by the end of a piece, for those who take each piece for itself: old
 * clients decode each STDOUT frame alone, and xterm.js 6 loses some of the characters whose bytes come in two writes.
 * At most 3 bytes are held.
 */
export class WholeCharacters {
  #held: Uint8Array = new Uint8Array(0);

  /** The beginning of a character that waits for its rest. */
  get held(): Uint8Array {
    return this.#held;
  }

  /** What can be passed on now; the same array when nothing was held back. */
  take(bytes: Uint8Array): Uint8Array {
    const all = this.#held.length === 0 ? bytes : concatBytes([this.#held, bytes]);
    const cut = all.length - incompleteUtf8Bytes(all);
    this.#held = all.slice(cut);
    return cut === all.length ? all : all.subarray(0, cut);
  }

  /** What was held back, for the end of the output. */
  rest(): Uint8Array {
    const rest = this.#held;
    this.#held = new Uint8Array(0);
    return rest;
  }
}

/**
 * How many bytes at the end begin a UTF-8 character whose other bytes are missing: 0 to 3. What can never become a
 * character does not count.
 */
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

/** Length of the character that this byte begins, in bytes. */
function characterBytes(first: number): number {
  if ((first & 0xe0) === 0xc0) return 2;
  if ((first & 0xf0) === 0xe0) return 3;
  return (first & 0xf8) === 0xf0 ? 4 : 1;
}
