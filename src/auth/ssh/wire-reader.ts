const LENGTH_BYTES = 4;

/** Reads strings as SSH writes them (RFC 4251, section 5). What goes past the end is `undefined`, and so is all after it. */
export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A view of the next string: a uint32, big-endian, and so many bytes. */
  string(): Uint8Array | undefined {
    const start = this.#at + LENGTH_BYTES;
    this.#at = start > this.#bytes.length ? Number.POSITIVE_INFINITY : start + this.#lengthAt(this.#at);
    return this.#at <= this.#bytes.length ? this.#bytes.subarray(start, this.#at) : undefined;
  }

  /** Whether everything was read, and nothing past it. */
  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  #lengthAt(at: number): number {
    const { buffer, byteOffset } = this.#bytes;
    return new DataView(buffer, byteOffset + at, LENGTH_BYTES).getUint32(0);
  }
}
