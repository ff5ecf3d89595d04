// A screen on disk, from which parsing continues: a CRC-32 of the rest, a line of JSON, and the bytes that draw the screen.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { MAX_TERMINAL_SIZE } from "../../../protocol/limits.ts";
import { ScreenTerminal } from "../terminal/terminal.ts";
import { ScreenFile } from "./file.ts";
import { type Screen, type ScreenSource, sizeAt } from "./message.ts";
import type { ParsedScreen } from "./parse.ts";

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

/** Writes the checkpoint, if possible. Does not wait for the disk: the checksum reveals a torn file after a crash. */
export function saveScreen(screen: ParsedScreen, source: ScreenSource, drawing: Screen["bytes"]): void {
  const { offset, size } = screen;
  const { output, checkpointPath: path } = source;
  if (path === undefined) return;
  try {
    const crcBefore = precedingCrc(output, offset);
    const header: z.infer<typeof Header> = { version: 2, offset, size, precedingCrc: crcBefore };
    const checked = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), drawing]);
    const crc = Buffer.alloc(CRC_BYTES);
    crc.writeUInt32LE(crc32(checked));
    writeFileSync(`${path}.tmp`, Buffer.concat([crc, checked]), { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
    screen.checkpoint = offset;
  } catch {
    // The disk is full, or the session was removed meanwhile.
  }
}

/** The screen at the checkpoint. Without one that fits the output, that of no output: everything is parsed again. */
export function restoreScreen(source: ScreenSource): ParsedScreen {
  const found = readCheckpoint(source);
  const { offset, size } = found ?? { offset: 0, size: sizeAt(source.sizes, 0) };
  const terminal = new ScreenTerminal(size);
  if (found !== undefined) terminal.write(found.drawing);
  return { terminal, size, offset, checkpoint: offset };
}

function readCheckpoint({ output, checkpointPath, upTo }: ScreenSource) {
  if (checkpointPath === undefined) return undefined;
  try {
    const found = readFileSync(checkpointPath);
    const checked = found.subarray(CRC_BYTES);
    const end = checked.indexOf(LINE_FEED);
    if (found.readUInt32LE() !== crc32(checked)) return undefined;
    const { offset, size, precedingCrc: crc } = Header.parse(JSON.parse(checked.toString("latin1", 0, end)));
    if (offset > upTo || crc !== precedingCrc(output, offset)) return undefined;
    return { offset, size, drawing: checked.subarray(end + 1) };
  } catch {
    // There is none, it is of another version, or the output cannot be read.
    return undefined;
  }
}

function precedingCrc(output: ScreenSource["output"], offset: number): number {
  using file = new ScreenFile(output);
  const length = Math.min(offset, PRECEDING_BYTES);
  return crc32(file.read(offset - length, length));
}
