import { malformedKey } from "../key-refusal.ts";
import { ByteCursor } from "./byte-cursor.ts";

/** The tags of X.690 that private keys need. */
export const DerTag = {
  integer: 0x02,
  octetString: 0x04,
  objectId: 0x06,
  sequence: 0x30,
  /** Context-specific: constructed, number 0. */
  attributes: 0xa0,
  /** Context-specific: primitive, number 1. */
  publicKey: 0x81,
} as const;

/** The longest value: lengths have at most two bytes. */
const MAX_LENGTH_BYTES = 2;

/** Reads consecutive DER values. Throws `invalid_request` for missing values and non-canonical encodings. */
export class DerReader {
  readonly #cursor: ByteCursor;

  constructor(bytes: Uint8Array) {
    this.#cursor = new ByteCursor(bytes);
  }

  get isAtEnd(): boolean {
    return this.#cursor.isAtEnd;
  }

  /** Whether a value with that tag comes next. */
  has(tag: number): boolean {
    return this.#cursor.next === tag;
  }

  /** A view of the content of the next value, which must have that tag. */
  read(tag: number): Uint8Array {
    if (this.#cursor.number(1) !== tag) throw malformedKey("it does not have the structure of a private key");
    return this.#cursor.take(this.#length());
  }

  #length(): number {
    const first = this.#cursor.number(1);
    if (first < 0x80) return first;
    const count = first - 0x80;
    if (count === 0 || count > MAX_LENGTH_BYTES)
      throw malformedKey("one of its fields has an invalid length");
    const length = this.#cursor.number(count);
    const isShortest = length >= (count === 1 ? 0x80 : 0x100);
    if (!isShortest) throw malformedKey("the length of a field is not in its shortest form");
    return length;
  }
}
