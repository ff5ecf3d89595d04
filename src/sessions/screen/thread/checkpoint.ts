// A screen on disk, so that the next one need not be made from the beginning of the output.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { concatBytes } from "../../../lib/data/collect.ts";
import { MAX_TERMINAL_SIZE } from "../../../protocol/limits.ts";
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import type { ScreenFile } from "./file.ts";

/** The bytes that draw the screen as it stood at an offset of the output, on a terminal just reset to that size. */
export type Checkpoint = { readonly offset: number; readonly size: TerminalSize; readonly bytes: Uint8Array };

/** "TTYHQSCR"; the number after it changes with what is drawn: an older checkpoint is then not used. */
const MAGIC = 0x5243_5351_4859_5454n;
const VERSION = 1;
/** Magic, version, columns, rows, offset, CRC-32 of the output before the offset, CRC-32 of all the rest. */
const HEADER_BYTES = 36;
const CHECKED_FROM = 4;
/** As much output before the offset shows that the checkpoint belongs to it. */
const PRECEDING_BYTES = 4 * 1024;

/** Replaces the file as a whole. A torn one after a crash is found out when it is read, so nothing waits for the disk. */
export function writeCheckpoint(path: string, checkpoint: Checkpoint, file: ScreenFile): void {
  const draft = `${path}.tmp`;
  writeFileSync(draft, encodeCheckpoint(checkpoint, precedingCrc(file, checkpoint.offset)), { mode: 0o600 });
  renameSync(draft, path);
}

/** Undefined when there is none, or none that fits the output up to `upTo`. */
export function readCheckpoint(path: string, file: ScreenFile, upTo: number): Checkpoint | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    // Without it everything is parsed again.
    return undefined;
  }
  const found = decodeCheckpoint(bytes);
  if (found === undefined || found.checkpoint.offset > upTo) return undefined;
  return found.precedingCrc === precedingCrc(file, found.checkpoint.offset) ? found.checkpoint : undefined;
}

export function encodeCheckpoint({ offset, size, bytes }: Checkpoint, precedingCrc: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(HEADER_BYTES));
  header.setBigUint64(4, MAGIC, true);
  header.setUint32(12, VERSION, true);
  header.setUint16(16, size.cols, true);
  header.setUint16(18, size.rows, true);
  header.setBigUint64(20, BigInt(offset), true);
  header.setUint32(28, precedingCrc, true);
  header.setUint32(32, bytes.length, true);
  const whole = concatBytes([new Uint8Array(header.buffer), bytes]);
  new DataView(whole.buffer).setUint32(0, crc32(whole.subarray(CHECKED_FROM)), true);
  return whole;
}

/** Undefined unless the bytes are an intact checkpoint of this version. */
export function decodeCheckpoint(
  whole: Uint8Array,
): { readonly checkpoint: Checkpoint; readonly precedingCrc: number } | undefined {
  if (whole.length < HEADER_BYTES) return undefined;
  const header = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  if (header.getUint32(0, true) !== crc32(whole.subarray(CHECKED_FROM))) return undefined;
  if (header.getBigUint64(4, true) !== MAGIC || header.getUint32(12, true) !== VERSION) return undefined;
  const size = { cols: header.getUint16(16, true), rows: header.getUint16(18, true) };
  const offset = Number(header.getBigUint64(20, true));
  const isWhole = header.getUint32(32, true) === whole.length - HEADER_BYTES;
  const isSize = Math.min(size.cols, size.rows) > 0 && Math.max(size.cols, size.rows) <= MAX_TERMINAL_SIZE;
  if (!isWhole || !isSize || !Number.isSafeInteger(offset)) return undefined;
  const bytes = whole.subarray(HEADER_BYTES);
  return { checkpoint: { offset, size, bytes }, precedingCrc: header.getUint32(28, true) };
}

function precedingCrc(file: ScreenFile, offset: number): number {
  const length = Math.min(offset, PRECEDING_BYTES);
  return crc32(file.read(offset - length, length));
}
