/** Reads bytes from front to back. */
export class ByteCursor {
  readonly #bytes: Uint8Array;
  readonly #truncated: () => Error;
  #at = 0;

  /** `truncated`: the error that is thrown beyond the end. */
  constructor(bytes: Uint8Array, truncated: () => Error) {
    this.#bytes = bytes;
    this.#truncated = truncated;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** The next byte without consuming it; undefined at the end. */
  get next(): number | undefined {
    return this.#bytes[this.#at];
  }

  /** A view of the next `length` bytes. */
  take(length: number): Uint8Array {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw this.#truncated();
    return this.#bytes.subarray(start, this.#at);
  }

  /** An unsigned big-endian number of that many bytes. */
  number(bytes: number): number {
    return this.take(bytes).reduce((value, byte) => value * 256 + byte, 0);
  }

  /** A view of all remaining bytes. */
  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.#at);
  }
}
