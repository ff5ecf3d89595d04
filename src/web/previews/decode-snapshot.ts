// Decodes SNAPSHOT_VT payloads (facts 2), which only clients do.
import type { ServiceError } from "../../protocol/errors.ts";
import { badPayload, readU16, readU32 } from "../../protocol/frame/frame.ts";
import {
  RowMarker,
  type ScreenSnapshot,
  SNAPSHOT_HEADER_BYTES,
  SNAPSHOT_VERSION,
} from "../../protocol/frame/snapshot.ts";
import { CellBit, type CellColour, type SnapshotCell } from "../../protocol/frame/snapshot-cell.ts";
import { MAX_TERMINAL_SIZE } from "../../protocol/limits.ts";
import { ByteCursor } from "../byte-cursor.ts";

type Row = readonly SnapshotCell[];

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws `invalid_request` unless the bytes are a snapshot of version 1; ignores bytes after its last row. */
export function decodeSnapshot(bytes: Uint8Array): ScreenSnapshot {
  if (bytes.length < SNAPSHOT_HEADER_BYTES)
    throw invalid(`${bytes.length} bytes, at least ${SNAPSHOT_HEADER_BYTES} are needed`);
  const magic = readU16(bytes, 0);
  if (magic !== 0x5654 && magic !== 0x5456) throw invalid("wrong magic");
  if (bytes[2] !== SNAPSHOT_VERSION) throw invalid(`version ${bytes[2]}, not ${SNAPSHOT_VERSION}`);
  const rows = readU32(bytes, 8);
  // Otherwise a row of two bytes could expand to 255 rows.
  if (rows > MAX_TERMINAL_SIZE) throw invalid(`${rows} rows, at most ${MAX_TERMINAL_SIZE}`);
  return {
    cols: readU32(bytes, 4),
    viewportY: readI32(bytes, 12),
    cursorX: readI32(bytes, 16),
    cursorY: readI32(bytes, 20),
    rows: readRows(
      new ByteCursor(bytes.subarray(SNAPSHOT_HEADER_BYTES), () => invalid("it ends too early")),
      rows,
    ),
  };
}

function readCell(reader: ByteCursor): SnapshotCell {
  const type = reader.number(1);
  const text = readText(reader, type);
  if ((type & CellBit.Styled) === 0) return { text, attributes: 0 };
  const attributes = reader.number(1);
  const fg = (type & CellBit.HasFg) === 0 ? {} : { fg: readColour(reader, (type & CellBit.RgbFg) !== 0) };
  const bg = (type & CellBit.HasBg) === 0 ? {} : { bg: readColour(reader, (type & CellBit.RgbBg) !== 0) };
  return { text, attributes, ...fg, ...bg };
}

function readRows(reader: ByteCursor, count: number): readonly Row[] {
  const rows: Row[] = [];
  while (rows.length < count) {
    const marker = reader.number(1);
    if (marker === RowMarker.Full)
      rows.push(Array.from({ length: readU16(reader.take(2), 0) }, () => readCell(reader)));
    else if (marker === RowMarker.Empty) {
      for (let left = Math.min(reader.number(1), count - rows.length); left > 0; left--) rows.push([]);
    } else throw invalid(`${marker} begins no row`);
  }
  return rows;
}

function readI32(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) | 0;
}

function invalid(reason: string, cause?: unknown): ServiceError {
  return badPayload(`Invalid SNAPSHOT_VT payload: ${reason}.`, cause);
}

function readText(reader: ByteCursor, type: number): string {
  if ((type & CellBit.Kind) === 0) return " ";
  if ((type & CellBit.Utf8) === 0) return String.fromCharCode(reader.number(1));
  const bytes = reader.take(reader.number(1));
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw invalid("a text in it is not UTF-8", cause);
  }
}

function readColour(reader: ByteCursor, isRgb: boolean): CellColour {
  return isRgb ? { r: reader.number(1), g: reader.number(1), b: reader.number(1) } : reader.number(1);
}
