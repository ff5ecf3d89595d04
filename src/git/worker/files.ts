// Files that are sent to a session of this process's user, or fetched from there. Every path is opened with that user's rights.
import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { copyFile, type FileHandle, link, open, readlink, rm, stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import type { RpcPeer } from "../../lib/async/rpc.ts";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { diskFault } from "../../lib/fs/disk-care.ts";
import { READ_FLAGS } from "../../lib/fs/open-flags.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { SavedFile } from "../../protocol/schemas/file.ts";
import { type FileToSave, type FileToSend, HOST } from "./methods.ts";

/** Read at once from a file. */
const PIECE_BYTES = 128 * 1024;
const MAX_NAME_BYTES = 255;
/** Names that are tried for one file. */
const MAX_NAMES = 1_000;

/** The host's end of a transfer. */
type Host = Pick<RpcPeer, "call" | "emit">;

/** Saves the file whole and under a free name, or not at all. */
export async function saveFile(
  { transfer, place, name }: FileToSave,
  host: Host,
  signal: AbortSignal,
): Promise<SavedFile> {
  const folder = await currentFolder(place);
  const draft = join(folder, `.${randomUUID()}.ttyhq-upload`);
  try {
    const size = await receive(transfer, draft, { host, signal });
    const path = await publish(draft, folder, name);
    return { path, name: basename(path), size };
  } catch (error) {
    throw explained(error, folder, "write");
  } finally {
    await rm(draft, { force: true });
  }
}

/** `home`: the folder that `~` stands for. */
export async function sendFile(
  { transfer, place, path: asked }: FileToSend,
  { host, home }: { readonly host: Host; readonly home: string },
  signal: AbortSignal,
): Promise<undefined> {
  const isInHome = asked === "~" || asked.startsWith("~/");
  const path = isInHome ? join(home, asked.slice(1)) : resolve(await currentFolder(place), asked);
  try {
    await using file = await openRegular(path);
    // As many bytes as the file has now.
    const { size } = await file.stat();
    host.emit(HOST.opened, { transfer, name: basename(path), size });
    const buffer = Buffer.alloc(Math.min(PIECE_BYTES, size));
    for (let left = size; left > 0; ) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, left));
      if (bytesRead === 0) return;
      left -= bytesRead;
      const bytes = buffer.toString("base64", 0, bytesRead);
      await host.call(HOST.write, { transfer, bytes }, signal);
    }
  } catch (error) {
    throw explained(error, path, "read");
  }
}

async function receive(
  transfer: number,
  draft: string,
  { host, signal }: { readonly host: Host; readonly signal: AbortSignal },
): Promise<number> {
  await using file = await open(draft, "wx");
  let size = 0;
  for (;;) {
    const piece = await host.call(HOST.read, { transfer }, signal);
    if (piece === undefined) return size;
    const bytes = Buffer.from(piece, "base64");
    await file.writeFile(bytes);
    size += bytes.length;
  }
}

async function currentFolder({ pids, workingDir }: FileToSave["place"]): Promise<string> {
  for (const pid of pids) {
    // A program of another user, such as one that sudo started, hides its directory; a removed one is no directory.
    const folder = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
    const found = folder === undefined ? undefined : await stat(folder).catch(() => undefined);
    if (folder !== undefined && found?.isDirectory()) return folder;
  }
  return workingDir;
}

/** Gives the finished draft its name, or a free one like it, and never replaces a file. Returns the path. */
export async function publish(draft: string, folder: string, name: string): Promise<string> {
  for (let number = 1; number <= MAX_NAMES; number++) {
    const path = join(folder, number === 1 ? name : numbered(name, number));
    if (await isLinked(draft, path)) return path;
  }
  const message = `${folder} has ${MAX_NAMES} files like ${name} already: rename yours`;
  throw new ServiceError("invalid_request", message);
}

/** Whether the draft has that name now; false if something else has it. */
async function isLinked(draft: string, path: string): Promise<boolean> {
  try {
    // Some file systems have no links.
    await link(draft, path).catch((error: unknown) => {
      if (isErrno(error, "EEXIST")) throw error;
      return copyFile(draft, path, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

/** `name-2.png` for `name.png`, cut to the length of a name. */
function numbered(name: string, number: number): string {
  const extension = extname(name);
  const end = `-${number}${extension}`;
  let stem = name.slice(0, name.length - extension.length);
  while (Buffer.byteLength(stem + end) > MAX_NAME_BYTES) stem = [...stem].slice(0, -1).join("");
  return stem + end;
}

/** Opening a FIFO would wait for a writer, and opening a device may do something: neither is opened. */
async function openRegular(path: string): Promise<FileHandle> {
  refuseOther(path, await stat(path));
  const file = await open(path, READ_FLAGS);
  try {
    // The file may have been replaced since the first check.
    refuseOther(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function refuseOther(path: string, found: Stats): void {
  if (found.isFile()) return;
  const what = found.isDirectory() ? "a directory: pack it first, with tar say" : "not a regular file";
  throw new ServiceError("not_a_file", `${path} is ${what}`);
}

/** Errors of the system in words. */
function explained(error: unknown, path: string, what: "read" | "write"): unknown {
  const fault = diskFault(error, path);
  if (fault !== undefined) return new ServiceError("disk_failed", fault, { cause: error });
  if (isErrno(error, "EACCES", "EPERM")) {
    const remedy = what === "read" ? "" : ": change to another directory first";
    const message = `the session's user may not ${what} ${path}${remedy}`;
    return new ServiceError("forbidden", message, { cause: error });
  }
  if (isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG")) {
    const message = what === "read" ? `there is no file ${path}` : `there is no directory ${path}`;
    return new ServiceError("file_not_found", message, { cause: error });
  }
  return error;
}
