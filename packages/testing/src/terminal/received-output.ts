import { concatBytes } from "../../../../src/lib/data/collect.ts";
import { Ring } from "../../../../src/lib/data/ring.ts";

/**
 * The received output of one session, by offset. Throws an Error if a byte is missing or repeated. Holds at least the
 * last `maxBytes`, and at most one piece more.
 */
export class ReceivedOutput {
  readonly #maxBytes: number;
  readonly #pieces = new Ring<Uint8Array>();
  #held = 0;
  #first: number | undefined;
  #next: number | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The offset of the first kept byte; undefined before the first. */
  get first(): number | undefined {
    return this.#first;
  }

  /** The offset after the last received byte. */
  get next(): number | undefined {
    return this.#next;
  }

  /** From `first` on, as a copy. */
  get bytes(): Uint8Array {
    const { length } = this.#pieces;
    return concatBytes(Array.from({ length }, (_, index) => this.#pieces.at(index) ?? new Uint8Array(0)));
  }

  /** The caller may change the bytes afterwards. */
  take(offset: number, bytes: Uint8Array): void {
    if (this.#next !== undefined && offset !== this.#next) {
      throw new Error(`output came from byte ${offset} on, where byte ${this.#next} was due`);
    }
    this.#first ??= offset;
    this.#next = offset + bytes.length;
    this.#pieces.push(bytes.slice());
    this.#held += bytes.length;
    this.#trim();
  }

  /** The output continues at another offset; nothing before it is kept. */
  skip(offset: number): void {
    this.#pieces.clear();
    this.#held = 0;
    this.#first = offset;
    this.#next = offset;
  }

  #trim(): void {
    for (;;) {
      const piece = this.#pieces.at(0);
      if (piece === undefined || this.#held - piece.length < this.#maxBytes) return;
      this.#pieces.shift();
      this.#held -= piece.length;
      this.#first = (this.#first ?? 0) + piece.length;
    }
  }
}
