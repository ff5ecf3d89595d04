import { truncatedKey } from "../key-refusal.ts";

/** Reads what SSH writes (RFC 4251, 5). Throws `invalid_request` for what is not there. */
export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** A view of the next `length` bytes. */
  take(length: number): Uint8Array {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw truncatedKey();
    return this.#bytes.subarray(start, this.#at);
  }

  u32(): number {
    return this.take(4).reduce((value, byte) => value * 256 + byte, 0);
  }

  /** A view of the next bytes, in front of which their number stands. */
  string(): Uint8Array {
    return this.take(this.u32());
  }

  /** A view of all that is left. */
  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.#at);
  }
}
