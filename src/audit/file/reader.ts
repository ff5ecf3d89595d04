// Pages of the audit log, newest first, across its files.
import { type FileHandle, open } from "node:fs/promises";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_AUDIT_PAGE_BYTES, MAX_AUDIT_SCAN_BYTES } from "../../protocol/limits.ts";
import { type AuditPage, type AuditQuery, AuditRecord } from "../../protocol/schemas/audit.ts";
import { entryIn, firstSequence, inodeName, logNames } from "./log-lines.ts";

const BLOCK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

export type Query = Omit<AuditQuery, "limit" | "cursor"> & Partial<Pick<AuditQuery, "limit" | "cursor">>;

/**
 * At most `limit` entries, MAX_AUDIT_PAGE_BYTES of entries and MAX_AUDIT_SCAN_BYTES of the log. A cursor names a file
 * by its first sequence number, which survives rotation, and the offset up to which the file remains to be read. If
 * that file is gone, the page is empty.
 */
export async function readAudit(path: string, query: Query): Promise<AuditPage> {
  const { limit = 100, cursor } = query;
  const [fromFile, fromOffset] = cursor?.split(".").map(Number) ?? [];
  const entries: AuditRecord[] = [];
  let [bytes, scanned] = [0, 0];
  let isFound = cursor === undefined;
  await using stack = new AsyncDisposableStack();
  for (const { file, size } of await openFiles(path, stack)) {
    const first = (await firstSequence(file)) ?? 0;
    const isStart = !isFound && first === fromFile;
    isFound ||= isStart;
    if (!isFound) continue;
    for await (const line of linesBefore(file, Math.min(size, (isStart ? fromOffset : undefined) ?? size))) {
      scanned += line.bytes.length + 1;
      // `ttyhq audit verify` reports foreign lines.
      const entry = entryIn(line.bytes, AuditRecord);
      if (entry !== undefined && fits(entry, query)) {
        entries.push(entry);
        bytes += line.bytes.length;
      }
      const isFull = entries.length >= limit || bytes >= MAX_AUDIT_PAGE_BYTES;
      if (isFull || scanned >= MAX_AUDIT_SCAN_BYTES) return { entries, next: `${first}.${line.offset}` };
    }
  }
  return { entries };
}

type OpenFile = { readonly file: FileHandle; readonly size: number };

/** Newest first, each once. Opened before any is read, because a rotation renames them. */
async function openFiles(path: string, stack: AsyncDisposableStack): Promise<readonly OpenFile[]> {
  const found = new Map<string, OpenFile>();
  for (const name of logNames(path)) {
    const file = await open(name, "r").catch(unlessMissing);
    if (file === undefined) continue;
    stack.use(file);
    const status = await file.stat();
    if (!status.isFile()) {
      const message = "the audit log of this server is not a file: read it where it goes to";
      throw new ServiceError("not_found", message);
    }
    found.set(inodeName(status), { file, size: status.size });
  }
  return [...found.values()];
}

/** Whole lines that end before `end`, each with its offset, last one first. */
async function* linesBefore(file: FileHandle, end: number) {
  /** The start of a line whose end has been read. */
  let rest: Buffer = Buffer.alloc(0);
  let isEndSeen = false;
  for (let at = end; at > 0; ) {
    const length = Math.min(BLOCK_BYTES, at);
    at -= length;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    const block = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
    let stop = block.length;
    for (let newline = block.lastIndexOf(NEWLINE); newline !== -1; ) {
      // The part after the last newline is still being written.
      if (isEndSeen) yield { bytes: block.subarray(newline + 1, stop), offset: at + newline + 1 };
      isEndSeen = true;
      stop = newline;
      newline = newline === 0 ? -1 : block.lastIndexOf(NEWLINE, newline - 1);
    }
    rest = block.subarray(0, stop);
  }
  if (isEndSeen && rest.length > 0) yield { bytes: rest, offset: 0 };
}

/** Whether the entry meets all conditions. */
export function fits(entry: AuditRecord, { since, until, user, action, session, result }: Query): boolean {
  const time = Date.parse(entry.time);
  return (
    (since === undefined || time >= Date.parse(since)) &&
    (until === undefined || time < Date.parse(until)) &&
    (user === undefined || entry.user === user) &&
    (action === undefined || entry.action === action) &&
    (session === undefined || entry.session === session) &&
    (result === undefined || entry.result === result)
  );
}
