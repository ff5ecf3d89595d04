import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Puts `bytes` in place of what the file held: a reader, or a start after a crash, sees the old or the new whole. Where
 * it need not outlive a crash of the machine (`isDurable` false), nobody waits for the disk.
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  mode: number,
  { isDurable = true }: { readonly isDurable?: boolean } = {},
): Promise<void> {
  await using draft = await writeDraft(path, bytes, { mode, isDurable });
  await rename(draft.path, path);
  if (isDurable) await syncDirectory(dirname(path));
}

/**
 * Makes the file with `bytes` unless it is there, and returns what it holds: of many who do this at once, in any
 * number of processes, one wins and all get the winner's bytes.
 */
export async function createFileOnce(path: string, bytes: Uint8Array, mode: number): Promise<Uint8Array> {
  await using draft = await writeDraft(path, bytes, { mode, isDurable: true });
  try {
    await link(draft.path, path);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
    return await readFile(path);
  }
  await syncDirectory(dirname(path));
  return bytes;
}

/** True for a system error with this code, such as `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

async function writeDraft(
  path: string,
  bytes: Uint8Array,
  { mode, isDurable }: { readonly mode: number; readonly isDurable: boolean },
): Promise<AsyncDisposable & { path: string }> {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  const remove = (): Promise<void> => rm(draft, { force: true });
  try {
    await using file = await open(draft, "wx", mode);
    await file.writeFile(bytes);
    if (isDurable) await file.sync();
  } catch (error) {
    await remove();
    throw error;
  }
  return { path: draft, [Symbol.asyncDispose]: remove };
}

/** A rename is on disk only when its directory is. */
async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}
