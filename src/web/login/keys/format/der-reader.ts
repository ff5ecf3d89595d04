import type { ByteCursor } from "../../../byte-cursor.ts";
import { malformedKey } from "../key-refusal.ts";
import { keyCursor } from "./key-parts.ts";

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

/**
 * The content of the next DER value, which must have that tag. Throws `invalid_request` if it is missing or its encoding is
 * not canonical.
 */
export function readDer(cursor: ByteCursor, tag: number): ByteCursor {
  if (cursor.number(1) !== tag) throw malformedKey("it does not have the structure of a private key");
  return keyCursor(cursor.take(readLength(cursor)));
}

function readLength(cursor: ByteCursor): number {
  const first = cursor.number(1);
  if (first < 0x80) return first;
  const count = first - 0x80;
  if (count === 0 || count > MAX_LENGTH_BYTES) throw malformedKey("one of its fields has an invalid length");
  const length = cursor.number(count);
  const isShortest = length >= (count === 1 ? 0x80 : 0x100);
  if (!isShortest) throw malformedKey("the length of a field is not in its shortest form");
  return length;
}
