// The files of an audit log, and their lines.
import { createReadStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import type { z } from "zod";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";
import { parseJson } from "../../protocol/json.ts";
import { linkOf } from "./chain.ts";

/** Rotated files that are kept: audit.log.1 (the newest) to audit.log.4. */
export const KEPT_FILES = 4;

const NEWLINE = 0x0a;

/** Without its newline; `isWhole` false: the last line has none. */
export type LogLine = { readonly bytes: Uint8Array; readonly isWhole: boolean };

/**
 * Names of a log's files, newest first. A rotation moves files on in this direction: looked up in this order none is
 * missed, but one may be found twice.
 */
export function logNames(path: string): readonly string[] {
  return [path, ...Array.from({ length: KEPT_FILES }, (_, index) => `${path}.${index + 1}`)];
}

export function inodeName({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}

/** Existing files of a log, oldest first, each once. */
export async function keptFiles(path: string): Promise<readonly string[]> {
  const found = new Map<string, string>();
  for (const name of logNames(path)) {
    const status = await stat(name).catch(unlessMissing);
    if (status !== undefined) found.set(inodeName(status), name);
  }
  return [...found.values()].reverse();
}

/** `undefined` for a line without such an entry. */
export function entryIn<Entry>(line: Uint8Array | string, schema: z.ZodType<Entry>): Entry | undefined {
  return schema.safeParse(parseJson(line)).data;
}

export async function* linesOf(file: string | FileHandle): AsyncGenerator<LogLine> {
  const options = { start: 0, highWaterMark: 1024 * 1024 };
  const stream =
    typeof file === "string"
      ? createReadStream(file, options)
      : file.createReadStream({ ...options, autoClose: false });
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
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

export async function firstSequence(file: string | FileHandle): Promise<number | undefined> {
  for await (const { bytes } of linesOf(file)) {
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
