import { readU16 } from "./frame.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads bytes from front to back; what it is asked for past the end, or that is no UTF-8, is `fail`'s to report. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #fail: (reason: string, cause?: unknown) => Error;
  #at: number;

  constructor(bytes: Uint8Array, start: number, fail: (reason: string, cause?: unknown) => Error) {
    this.#bytes = bytes;
    this.#at = start;
    this.#fail = fail;
  }

  byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw this.#fail("it ends too early");
    return byte;
  }

  u16(): number {
    return readU16(this.take(2), 0);
  }

  /** A view of the next `length` bytes. */
  take(length: number): Uint8Array {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw this.#fail("it ends too early");
    return this.#bytes.subarray(start, this.#at);
  }

  /** The next `length` bytes as UTF-8. */
  text(length: number): string {
    const bytes = this.take(length);
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw this.#fail("a text in it is not UTF-8", cause);
    }
  }
}
