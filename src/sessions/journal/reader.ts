import { type FileHandle, open, stat } from "node:fs/promises";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";
import type { SessionFiles } from "../storage/control-dir.ts";
import { gapLabel, gapOf, type JournalEvent, parseEventLine } from "./event.ts";

const READ_BYTES = 256 * 1024;
const EVENT_READ_BYTES = 64 * 1024;

export type JournalEntry =
  | { readonly kind: "o"; readonly time: number; readonly bytes: Uint8Array }
  | { readonly kind: "r" | "m" | "i" | "x"; readonly time: number; readonly data: string };

/** Called at the end of the file: resolves to true when there is more, to false at the end. */
export type Follow = () => Promise<boolean>;

/** All entries in order, gaps as markers. Without `follow` up to the current end of the file. */
export async function* readJournal(files: SessionFiles, follow?: Follow): AsyncGenerator<JournalEntry> {
  await using output = await open(files.output, "r").catch(unlessMissing);
  let position = 0;
  let lost = 0;
  for await (const event of readEvents(files, follow)) {
    const { kind, time, offset, data = "" } = event;
    if (kind === "g") {
      const gap = gapOf(event);
      if (gap === undefined) continue;
      lost += gap.to - gap.from;
      yield { kind: "m", time, data: gapLabel(gap) };
    } else if (kind !== "o") {
      yield { kind, time, data };
    } else if (output !== undefined) {
      while (position < offset - lost) {
        const bytes = await readAt(output, position, Math.min(READ_BYTES, offset - lost - position));
        if (bytes.length === 0) return;
        position += bytes.length;
        yield { kind: "o", time, bytes };
      }
    }
  }
}

/** The records of the events file, without a torn last line. */
export async function* readEvents(files: SessionFiles, follow?: Follow): AsyncGenerator<JournalEvent> {
  await using file = await open(files.events, "r").catch(unlessMissing);
  if (file === undefined) return;
  const decoder = new TextDecoder();
  let position = 0;
  let rest = "";
  for (;;) {
    const bytes = await readAt(file, position, EVENT_READ_BYTES);
    position += bytes.length;
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = parseEventLine(line);
      if (event === undefined) return;
      yield event;
    }
    if (bytes.length === 0 && !(follow !== undefined && (await follow()))) return;
  }
}

/** The bytes from `from` up to, not including, `to`. Throws if some are missing: the client expects that length. */
export async function* readBytes(path: string, from: number, to: number): AsyncGenerator<Uint8Array> {
  if (from >= to) return;
  await using file = await open(path, "r");
  for (let offset = from; offset < to; ) {
    const bytes = await readAt(file, offset, Math.min(READ_BYTES, to - offset));
    if (bytes.length === 0) throw new Error(`${path} ends at byte ${offset}, not at ${to}`);
    offset += bytes.length;
    yield bytes;
  }
}

/** 0 for a missing file. */
export async function fileBytes(path: string): Promise<number> {
  return (await stat(path).catch(unlessMissing))?.size ?? 0;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
