// The payload of RESYNC, and sizes in payloads. Makes no schemas: short commands load it.
import { MAX_TERMINAL_SIZE, MIN_TERMINAL_SIZE } from "../limits.ts";
import type { TerminalSize } from "../schemas/session.ts";
import {
  badPayload,
  checkOffset,
  needBytes,
  OFFSET_BYTES,
  readOffset,
  readU32,
  writeU32,
  writeU64,
} from "./frame.ts";

/** The terminal's screen at byte `offset` of the output, drawn by `bytes` on a terminal reset to `size`. */
export type Resync = { readonly offset: number; readonly size: TerminalSize; readonly bytes: Uint8Array };

export const SIZE_BYTES = 8;

export function encodeResync(resync: Resync): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(OFFSET_BYTES + SIZE_BYTES + resync.bytes.length);
  writeU64(payload, 0, checkOffset(resync.offset));
  writeSize("RESYNC", payload, OFFSET_BYTES, resync.size);
  payload.set(resync.bytes, OFFSET_BYTES + SIZE_BYTES);
  return payload;
}

/** `bytes` are a view. */
export function decodeResync(payload: Uint8Array): Resync {
  needBytes("RESYNC", payload, OFFSET_BYTES + SIZE_BYTES);
  return {
    offset: readOffset("RESYNC", payload, 0),
    size: readSize("RESYNC", payload, OFFSET_BYTES),
    bytes: payload.subarray(OFFSET_BYTES + SIZE_BYTES),
  };
}

export function readSize(type: string, payload: Uint8Array, at: number): TerminalSize {
  return checkSize(type, { cols: readU32(payload, at), rows: readU32(payload, at + 4) });
}

export function writeSize(type: string, target: Uint8Array, at: number, size: TerminalSize): void {
  const { cols, rows } = checkSize(type, size);
  writeU32(target, at, cols);
  writeU32(target, at + 4, rows);
}

function checkSize(type: string, size: TerminalSize): TerminalSize {
  if (isExtent(size.cols) && isExtent(size.rows)) return size;
  const range = `${MIN_TERMINAL_SIZE} to ${MAX_TERMINAL_SIZE}`;
  throw badPayload(
    `Invalid ${type} payload: ${size.cols}x${size.rows} is not a size, each must be ${range}.`,
  );
}

function isExtent(value: number): boolean {
  return Number.isInteger(value) && value >= MIN_TERMINAL_SIZE && value <= MAX_TERMINAL_SIZE;
}
