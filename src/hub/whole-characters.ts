import { concatBytes } from "../lib/collect.ts";
import { incompleteUtf8Bytes } from "../lib/utf8.ts";

/** Old clients decode each STDOUT frame alone: no UTF-8 character may be split over two of them. */
export class WholeCharacters {
  #held: Uint8Array = new Uint8Array(0);

  get heldBytes(): number {
    return this.#held.length;
  }

  /** What can be sent now; the same array when nothing was held back. */
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
