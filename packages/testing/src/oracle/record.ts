// One record of the oracle: `NUMBER KIND PAYLOAD CHECKSUM` and a line end. A payload has no line feed.
import { crc32 } from "node:zlib";

export type OracleRecord = {
  readonly number: number;
  /** The first record, one in between, the last one. */
  readonly kind: "begin" | "data" | "end";
  /** As it is printed. */
  readonly checksum: string;
  readonly payload: Uint8Array;
};

/** The maximum length of a record. */
export const MAX_RECORD_BYTES = 4096;

const KINDS: ReadonlyMap<number, OracleRecord["kind"]> = new Map([
  [0x42, "begin"],
  [0x44, "data"],
  [0x45, "end"],
]);
const NUMBER_BYTES = 9;
/** Number, kind and a space after each. */
const HEAD_BYTES = NUMBER_BYTES + 3;
/** A space, the checksum, CR LF. */
const TAIL_BYTES = 11;

/** `line` includes its line feed. Undefined unless it is exactly a record of the oracle with that seed. */
export function readOracleRecord(line: Uint8Array, seed: number): OracleRecord | undefined {
  const end = line.length - TAIL_BYTES;
  const kind = KINDS.get(line[NUMBER_BYTES + 1] ?? 0);
  const number = decimal(line);
  if (end < HEAD_BYTES || kind === undefined || number === undefined) return undefined;
  const checksum = crc32(line.subarray(0, end), seed).toString(16).padStart(8, "0");
  if (ascii(line.subarray(end)) !== ` ${checksum}\r\n`) return undefined;
  return { number, kind, checksum, payload: line.subarray(HEAD_BYTES, end) };
}

function decimal(line: Uint8Array): number | undefined {
  let number = 0;
  for (let at = 0; at < NUMBER_BYTES; at++) {
    const digit = (line[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}

function ascii(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
