// A screen on disk, from which parsing continues: a CRC-32 of the rest, a line of JSON, and the bytes that draw the screen.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { MAX_TERMINAL_SIZE } from "../../../protocol/limits.ts";
import { ScreenFile } from "./file.ts";
import type { Screen, ScreenSource } from "./message.ts";

const LINE_FEED = 0x0a;
const CRC_BYTES = 4;
/** Output before the offset whose checksum shows that the checkpoint belongs to it. */
const PRECEDING_BYTES = 4 * 1024;

const Cells = z.int().min(1).max(MAX_TERMINAL_SIZE);
const Header = z.object({
  /** Changes with the drawing: checkpoints of other versions are not used. */
  version: z.literal(2),
  offset: z.int().min(0),
  size: z.object({ cols: Cells, rows: Cells }),
  precedingCrc: z.number(),
});

/** Does not wait for the disk: the checksum reveals a torn file after a crash. */
export function writeCheckpoint({ output, checkpointPath: path }: ScreenSource, screen: Screen): void {
  if (path === undefined) return;
  const { offset, size, bytes } = screen;
  const header: z.infer<typeof Header> = {
    version: 2,
    offset,
    size,
    precedingCrc: precedingCrc(output, offset),
  };
  const checked = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes]);
  const crc = Buffer.alloc(CRC_BYTES);
  crc.writeUInt32LE(crc32(checked));
  writeFileSync(`${path}.tmp`, Buffer.concat([crc, checked]), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

/** Undefined without a checkpoint that fits the output: everything is parsed again. */
export function readCheckpoint(source: ScreenSource): Screen | undefined {
  try {
    return source.checkpointPath === undefined
      ? undefined
      : parse(readFileSync(source.checkpointPath), source);
  } catch {
    return undefined;
  }
}

/** Throws if the output cannot be read. */
function parse(found: Buffer<ArrayBuffer>, { output, upTo }: ScreenSource): Screen | undefined {
  const checked = found.subarray(CRC_BYTES);
  if (found.length < CRC_BYTES || found.readUInt32LE() !== crc32(checked)) return undefined;
  const end = checked.indexOf(LINE_FEED);
  const header = Header.safeParse(JSON.parse(checked.toString("latin1", 0, end))).data;
  if (header === undefined || header.offset > upTo) return undefined;
  if (header.precedingCrc !== precedingCrc(output, header.offset)) return undefined;
  return { offset: header.offset, size: header.size, bytes: checked.subarray(end + 1) };
}

function precedingCrc(output: ScreenSource["output"], offset: number): number {
  using file = new ScreenFile(output);
  const length = Math.min(offset, PRECEDING_BYTES);
  return crc32(file.read(offset - length, length));
}
