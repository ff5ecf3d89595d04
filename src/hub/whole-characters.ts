import { concatBytes } from "../lib/collect.ts";

/** Old clients decode each STDOUT frame alone: no UTF-8 character may be split over two of them. */
export class WholeCharacters {
  #held: Uint8Array = new Uint8Array(0);

  /** What can be sent now; the same array when nothing was held back. */
  take(bytes: Uint8Array): Uint8Array {
    const all = this.#held.length === 0 ? bytes : concatBytes([this.#held, bytes]);
    const cut = all.length - incompleteTail(all);
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

/** Bytes at the end that begin a character which goes on later: 0 to 3. */
function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}
