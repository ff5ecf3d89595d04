import { ServiceError } from "../protocol/errors.ts";

/** First byte and the one after the last. */
export type ByteRange = { readonly start: number; readonly end: number };

const SINGLE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part of `length` bytes that a Range header asks for (RFC 9110, 14.2); undefined for none, and for what a server
 * may ignore: other units, several ranges. Throws `range_not_satisfiable`.
 */
export function readRange(header: string | undefined, length: number): ByteRange | undefined {
  const [, first = "", last = ""] = SINGLE_RANGE.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return check(Math.max(0, length - Number(last)), length, length);
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return check(Number(first), last === "" ? length : Math.min(length, Number(last) + 1), length);
}

function check(start: number, end: number, length: number): ByteRange {
  if (start < end) return { start, end };
  throw new ServiceError("range_not_satisfiable", `there are ${length} bytes`, { details: { length } });
}
