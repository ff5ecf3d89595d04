import { concatBytes } from "../lib/data/collect.ts";
import { incompleteUtf8Bytes } from "../lib/utf8.ts";

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
