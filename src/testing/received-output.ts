import { concatBytes } from "../lib/collect.ts";

/**
 * One session's output as it came, by offset. Throws an Error where a byte is missing or comes twice. Holds the last
 * `maxBytes` and no more than twice as much.
 */
export class ReceivedOutput {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #held = 0;
  #first: number | undefined;
  #next: number | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The offset of the first byte that is held; undefined before the first. */
  get first(): number | undefined {
    return this.#first;
  }

  /** The offset after the last byte that came. */
  get next(): number | undefined {
    return this.#next;
  }

  /** From `first` on. */
  get bytes(): Uint8Array {
    this.#pieces = [concatBytes(this.#pieces)];
    return this.#pieces[0] ?? new Uint8Array(0);
  }

  /** The bytes may be changed afterwards. */
  take(offset: number, bytes: Uint8Array): void {
    if (this.#next !== undefined && offset !== this.#next) {
      throw new Error(`output came from byte ${offset} on, where byte ${this.#next} was due`);
    }
    this.#first ??= offset;
    this.#next = offset + bytes.length;
    this.#pieces.push(bytes.slice());
    this.#held += bytes.length;
    while (this.#held - (this.#pieces[0]?.length ?? 0) >= this.#maxBytes) this.#drop();
  }

  /** The output goes on from a byte, and what is held ends before it. */
  skip(offset: number): void {
    this.#pieces = [];
    this.#held = 0;
    this.#first = offset;
    this.#next = offset;
  }

  #drop(): void {
    const dropped = this.#pieces.shift()?.length ?? 0;
    this.#held -= dropped;
    this.#first = (this.#first ?? 0) + dropped;
  }
}
