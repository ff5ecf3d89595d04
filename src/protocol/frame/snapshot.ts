// SNAPSHOT_VT version 1 (facts 2): a screen as cells, also the body of GET /api/sessions/:id/buffer.
import { writeU16, writeU32 } from "./frame.ts";
import { isSpace, maxCellBytes, type SnapshotCell, writeCell } from "./snapshot-cell.ts";

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

export const SNAPSHOT_HEADER_BYTES = 28;
const ROW_HEADER_BYTES = 3;
/** The first byte of a row. */
export const RowMarker = { Empty: 0xfe, Full: 0xfd } as const;

/** Omits blank cells at the end of rows and blank rows at the bottom, but not all: clients drop less than 32 bytes. */
export function encodeSnapshot(screen: ScreenSnapshot): Uint8Array<ArrayBuffer> {
  const rows = trimRows(screen.rows.map(trimCells));
  const target = new Uint8Array(rows.reduce((bytes, row) => bytes + maxRowBytes(row), SNAPSHOT_HEADER_BYTES));
  // In this order for every client, whatever the order in the frame.
  target.set([0x54, 0x56, SNAPSHOT_VERSION, 0]);
  writeU32(target, 4, screen.cols);
  writeU32(target, 8, rows.length);
  writeU32(target, 12, screen.viewportY);
  writeU32(target, 16, screen.cursorX);
  writeU32(target, 20, screen.cursorY);
  return target.slice(
    0,
    rows.reduce((at, row) => writeRow(target, at, row), SNAPSHOT_HEADER_BYTES),
  );
}

function trimCells(row: Row): Row {
  const length = row.findLastIndex((cell) => !isBlank(cell)) + 1;
  return length === 1 && row.slice(0, 1).every(isBlack) ? [] : row.slice(0, length);
}

function isBlank(cell: SnapshotCell): boolean {
  return isSpace(cell) && cell.attributes === 0 && cell.fg === undefined && cell.bg === undefined;
}

/** A row of one black space counts as empty, as in VibeTunnel's encoder (facts 2.2). */
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
    target[start] = RowMarker.Empty;
    target[start + 1] = 1;
    return start + 2;
  }
  target[start] = RowMarker.Full;
  writeU16(target, start + 1, row.length);
  return row.reduce((at, cell) => writeCell(target, at, cell), start + ROW_HEADER_BYTES);
}
