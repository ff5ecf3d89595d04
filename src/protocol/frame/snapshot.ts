// SNAPSHOT_VT version 1 (facts 2): a screen as cells, also the body of GET /api/sessions/:id/buffer.

import { MAX_TERMINAL_SIZE } from "../limits.ts";
import { ByteReader } from "./byte-reader.ts";
import { PayloadError, readU16, readU32, writeU16, writeU32 } from "./frame.ts";
import { isSpace, maxCellBytes, readCell, type SnapshotCell, writeCell } from "./snapshot-cell.ts";

export const SNAPSHOT_VERSION = 1;

/**
 * The visible screen, each row from column 0 on. `viewportY` is the number of lines of scrollback above it; the cursor
 * counts from 0 and may stand at column `cols` and below the last row that is here.
 */
export type ScreenSnapshot = {
  readonly cols: number;
  readonly viewportY: number;
  readonly cursorX: number;
  readonly cursorY: number;
  readonly rows: readonly (readonly SnapshotCell[])[];
};

type Row = readonly SnapshotCell[];

const HEADER_BYTES = 28;
const ROW_HEADER_BYTES = 3;
const EMPTY_ROW = 0xfe;
const FULL_ROW = 0xfd;

/**
 * Blank cells at the end of a row and blank rows at the bottom are left out, but a blank screen has two rows: a client
 * drops what has under 32 bytes.
 */
export function encodeSnapshot(screen: ScreenSnapshot): Uint8Array<ArrayBuffer> {
  const rows = trimRows(screen.rows.map(trimCells));
  const target = new Uint8Array(rows.reduce((bytes, row) => bytes + maxRowBytes(row), HEADER_BYTES));
  // This order for every client, whatever the order in the frame around it.
  target.set([0x54, 0x56, SNAPSHOT_VERSION, 0]);
  writeU32(target, 4, screen.cols);
  writeU32(target, 8, rows.length);
  writeU32(target, 12, screen.viewportY);
  writeU32(target, 16, screen.cursorX);
  writeU32(target, 20, screen.cursorY);
  return target.slice(
    0,
    rows.reduce((at, row) => writeRow(target, at, row), HEADER_BYTES),
  );
}

/** Throws PayloadError where the bytes are no snapshot of version 1; what follows its last row is ignored. */
export function decodeSnapshot(bytes: Uint8Array): ScreenSnapshot {
  if (bytes.length < HEADER_BYTES)
    throw invalid(`${bytes.length} bytes, at least ${HEADER_BYTES} are needed`);
  const magic = readU16(bytes, 0);
  if (magic !== 0x5654 && magic !== 0x5456) throw invalid("wrong magic");
  if (bytes[2] !== SNAPSHOT_VERSION) throw invalid(`version ${bytes[2]}, not ${SNAPSHOT_VERSION}`);
  const rows = readU32(bytes, 8);
  // Without this a row of two bytes could stand for 255 each.
  if (rows > MAX_TERMINAL_SIZE) throw invalid(`${rows} rows, at most ${MAX_TERMINAL_SIZE}`);
  return {
    cols: readU32(bytes, 4),
    viewportY: readI32(bytes, 12),
    cursorX: readI32(bytes, 16),
    cursorY: readI32(bytes, 20),
    rows: readRows(new ByteReader(bytes, HEADER_BYTES, invalid), rows),
  };
}

function trimCells(row: Row): Row {
  const length = row.findLastIndex((cell) => !isBlank(cell)) + 1;
  return length === 1 && row.slice(0, 1).every(isBlack) ? [] : row.slice(0, length);
}

function isBlank(cell: SnapshotCell): boolean {
  return isSpace(cell) && cell.attributes === 0 && cell.fg === undefined && cell.bg === undefined;
}

/** A row of one black space counts as empty: so says the encoder that old clients know (facts 2.2). */
function isBlack(cell: SnapshotCell): boolean {
  return isSpace(cell) && cell.attributes === 0 && (cell.fg ?? 0) === 0 && (cell.bg ?? 0) === 0;
}

function trimRows(rows: readonly Row[]): readonly Row[] {
  const height = rows.findLastIndex((row) => row.length > 0) + 1;
  return height > 0 ? rows.slice(0, height) : [[], []];
}

function maxRowBytes(row: Row): number {
  return row.reduce((bytes, cell) => bytes + maxCellBytes(cell), ROW_HEADER_BYTES);
}

function writeRow(target: Uint8Array, start: number, row: Row): number {
  if (row.length === 0) {
    target[start] = EMPTY_ROW;
    target[start + 1] = 1;
    return start + 2;
  }
  target[start] = FULL_ROW;
  writeU16(target, start + 1, row.length);
  return row.reduce((at, cell) => writeCell(target, at, cell), start + ROW_HEADER_BYTES);
}

function readRows(reader: ByteReader, count: number): readonly Row[] {
  const rows: Row[] = [];
  while (rows.length < count) {
    const marker = reader.byte();
    if (marker === FULL_ROW) rows.push(Array.from({ length: reader.u16() }, () => readCell(reader)));
    else if (marker === EMPTY_ROW) {
      for (let left = Math.min(reader.byte(), count - rows.length); left > 0; left--) rows.push([]);
    } else throw invalid(`${marker} begins no row`);
  }
  return rows;
}

function readI32(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) | 0;
}

function invalid(reason: string, cause?: unknown): PayloadError {
  return new PayloadError(`Invalid SNAPSHOT_VT payload: ${reason}.`, { cause });
}
