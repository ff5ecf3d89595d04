// The files of an audit log, and their lines.
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import type { z } from "zod";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";
import { linkOf } from "./chain.ts";

/** Rotated files that are kept: audit.log.1 (the newest) to audit.log.4. */
export const KEPT_FILES = 4;

const NEWLINE = 0x0a;

/** Without its newline; `isWhole` false: the last line has none. */
export type LogLine = { readonly bytes: Uint8Array; readonly isWhole: boolean };

/** Existing files of a log, oldest first. A file with two names, as during a rotation, is listed once. */
export async function keptFiles(path: string): Promise<readonly string[]> {
  const names = Array.from({ length: KEPT_FILES }, (_, index) => `${path}.${KEPT_FILES - index}`);
  const found = new Map<string, string>();
  for (const name of [...names, path]) {
    const at = await stat(name).catch(unlessMissing);
    if (at !== undefined) found.set(`${at.dev}:${at.ino}`, name);
  }
  return [...found.values()];
}

/** `undefined` for a line without such an entry. */
export function entryIn<Entry>(line: Uint8Array | string, schema: z.ZodType<Entry>): Entry | undefined {
  const text = typeof line === "string" ? line : new TextDecoder().decode(line);
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export async function* linesOf(path: string): AsyncGenerator<LogLine> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    const bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      yield { bytes: bytes.subarray(start, end), isWhole: true };
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false };
}

export async function firstSequence(path: string): Promise<number | undefined> {
  for await (const { bytes } of linesOf(path)) {
    const link = linkOf(bytes);
    if (link !== undefined) return link.seq;
  }
  return undefined;
}

/** The end of a file of `size` bytes after its last newline, at most 1 MiB. */
export async function tornEnd(path: string, size: number): Promise<Uint8Array> {
  const length = Math.min(size, 1024 * 1024);
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const tail = buffer.subarray(0, bytesRead);
  return tail.subarray(tail.lastIndexOf(NEWLINE) + 1);
}
