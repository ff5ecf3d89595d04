import { malformedKey } from "../key-refusal.ts";
import { ByteCursor } from "./byte-cursor.ts";

/** Of X.690: as many as a private key needs. */
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

/** The longest value: the two bytes of a length say that much. */
const MAX_LENGTH_BYTES = 2;

/** Reads values of DER one after the other. Throws `invalid_request` for what is not there, or not the shortest way to say it. */
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

  /** A view of what the next value holds, which must have that tag. */
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
