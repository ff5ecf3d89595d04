import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ServiceError } from "../../protocol/errors.ts";

/** Readers see the old or the new content, also after a crash. Unless `isDurable`, a crash of the machine may undo the change. */
export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  mode: number,
  { isDurable = true }: { readonly isDurable?: boolean } = {},
): Promise<void> {
  const draft = await writeDraft(path, bytes, mode);
  try {
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  if (isDurable) await sync(dirname(path));
}

/** All of them; if one cannot be opened, none stays open. */
export async function allOpened<const T extends readonly Promise<{ close(): Promise<void> }>[]>(
  opening: T,
): Promise<{ -readonly [Each in keyof T]: Awaited<T[Each]> }> {
  try {
    return await Promise.all(opening);
  } catch (error) {
    for (const each of await Promise.allSettled(opening)) {
      if (each.status === "fulfilled") await each.value.close();
    }
    throw error;
  }
}

/** Creates the file unless it exists. Returns its content: all concurrent callers get the bytes of one of them. */
export async function createFileOnce(path: string, bytes: Uint8Array, mode: number): Promise<Uint8Array> {
  const draft = await writeDraft(path, bytes, mode);
  try {
    await link(draft, path);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
    return await readFile(path);
  } finally {
    await rm(draft, { force: true });
  }
  await sync(dirname(path));
  return bytes;
}

/** For `catch`: `undefined` if the file does not exist. */
export function unlessMissing(error: unknown): undefined {
  if (!isErrno(error, "ENOENT")) throw error;
}

/** Whether an error is a system error with one of these codes, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.some((code) => code === error.code);
}

/** Returns the path of the draft. Without the sync, a crash of the machine might leave an empty file under the path. */
async function writeDraft(path: string, bytes: Uint8Array, mode: number): Promise<string> {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    await using file = await open(draft, "wx", mode);
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return draft;
}

/** Of a file, or of a directory: a rename is durable once its directory is synced. */
async function sync(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}

/** Writes `value` as JSON, see `replaceFile`. */
export async function writeJsonFile(
  path: string,
  value: unknown,
  mode: number,
  options: { readonly isDurable?: boolean } = {},
): Promise<void> {
  await replaceFile(path, jsonFileBytes(value), mode, options);
}

export function jsonFileBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`);
}

/** `undefined` without a file. ServiceError `internal_error` with the path where `parse` throws. */
export async function readJsonFile<T>(path: string, parse: (value: unknown) => T): Promise<T | undefined> {
  const text = await readFile(path, "utf8").catch(unlessMissing);
  if (text === undefined) return undefined;
  try {
    return parse(JSON.parse(text));
  } catch (cause) {
    throw new ServiceError("internal_error", `${path} is damaged`, { cause });
  }
}
