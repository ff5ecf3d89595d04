import { crc32 } from "node:zlib";
import { oracleRecords } from "../../../packages/testing/src/oracle/source.ts";

/** The terminal output of an oracle of that length. */
export function expectedOutput(options: { readonly bytes: number; readonly seed: number }): Buffer {
  const spec = { ...options, isWild: false, linesPerSecond: 0, waitsForKey: false };
  return Buffer.concat([...oracleRecords(spec, crc32, "\r\n")]);
}

/** Compares output with the expected bytes: for a hundred streams that is cheaper than checksums. */
export class OutputComparison {
  readonly #due: Buffer;
  #next: number;
  #skips = 0;

  constructor(due: Buffer, from: number) {
    this.#due = due;
    this.#next = from;
  }

  /** The offset of the next byte. */
  get next(): number {
    return this.#next;
  }

  /** The number of gaps in the output. */
  get skips(): number {
    return this.#skips;
  }

  /** Throws an Error if a byte is wrong or misplaced. */
  take(bytes: Uint8Array, offset: number): void {
    if (offset !== this.#next) throw new Error(`byte ${offset} came, ${this.#next} was due`);
    this.#next = offset + bytes.length;
    const isSame =
      this.#next <= this.#due.length && this.#due.compare(bytes, 0, bytes.length, offset, this.#next) === 0;
    if (!isSame) throw new Error(`from byte ${offset} on other bytes came than were due`);
  }

  skip(offset: number): void {
    this.#next = offset;
    this.#skips += 1;
  }
}
