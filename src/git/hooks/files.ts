// Files of a repository that git has no command for: hooks, and what git is told to ignore. Paths are absolute. Every
// function throws ServiceError `forbidden` where this user may not do it.
import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, replaceFile } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";

export type FoundFile = {
  /** At most the first MAX_FILE_BYTES; of a symbolic link those of its target. */
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  /** Permissions alone. */
  readonly mode: number;
  /** Of a symbolic link: its target. */
  readonly target: string | undefined;
};

/** Longer than any hook of ours, and than what anybody has git ignore. */
const MAX_FILE_BYTES = 1024 * 1024;
const PERMISSIONS = 0o7777;
const isLinux = process.platform === "linux";

/** `undefined`: there is nothing of that name. */
export async function readFound(path: string): Promise<FoundFile | undefined> {
  try {
    const found = await fs.lstat(path);
    const target = found.isSymbolicLink() ? await fs.readlink(path) : undefined;
    const isWhole = found.isFile() && found.size <= MAX_FILE_BYTES;
    return { bytes: await firstBytes(path), isWhole, mode: found.mode & PERMISSIONS, target };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw refused(path, error);
  }
}

/** Replaces the file atomically; it has exactly that mode, whatever the umask. */
export async function writeFile(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  await attempt(path, async () => {
    await replaceFile(path, bytes, mode);
    await fs.chmod(path, mode);
  });
}

/** Creates the folder and its parents. Returns whether it was missing. */
export async function makeFolder(path: string): Promise<boolean> {
  return await attempt(path, async () => (await fs.mkdir(path, { recursive: true })) !== undefined);
}

/** Whether files could be put there; of a folder that is missing, whether it could be made. */
export async function isWritable(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      await fs.access(at, constants.W_OK | constants.X_OK);
      return true;
    } catch (error) {
      if (!isErrno(error, "ENOENT") || at === "/") return false;
    }
  }
}

/** The same file under a second name; where the file system has no links, it is moved there. */
export async function keepFile(path: string, kept: string): Promise<void> {
  await attempt(path, () => fs.link(path, kept).catch(() => fs.rename(path, kept)));
}

/** A symbolic link in place of what is there. */
export async function linkFile(target: string, path: string): Promise<void> {
  await attempt(path, async () => {
    await fs.rm(path, { force: true });
    await fs.symlink(target, path);
  });
}

export async function moveFile(from: string, to: string): Promise<void> {
  await attempt(to, () => fs.rename(from, to));
}

/** A missing file is no failure. */
export async function removeFile(path: string): Promise<void> {
  await attempt(path, () => fs.rm(path, { force: true }));
}

/** Removes an empty folder; any other stays. */
export async function removeEmptyFolder(path: string): Promise<void> {
  await fs.rmdir(path).catch(() => undefined);
}

/** A folder that stays the same one while its files are used, whatever happens at its path. */
export type OpenFolder = AsyncDisposable & { readonly path: string };

/**
 * Opens a folder of this user's own without following a symbolic link. `undefined` for anything else: whoever may swap
 * it could redirect what is written there.
 */
export async function openOwnFolder(path: string): Promise<OpenFolder | undefined> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await fs.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => undefined);
  if (folder === undefined) return undefined;
  if ((await folder.stat()).uid !== process.geteuid?.()) {
    await folder.close();
    return undefined;
  }
  return {
    // Relative to the open descriptor, as openat(2) does it.
    path: isLinux ? `/proc/self/fd/${folder.fd}` : path,
    [Symbol.asyncDispose]: () => folder.close(),
  };
}

/** Throws `forbidden` for a folder of another user: what is done there may be what its owner wants, not this user. */
export async function requireOwn(path: string): Promise<void> {
  const { uid } = await attempt(path, () => fs.lstat(path));
  if (uid === process.geteuid?.()) return;
  throw new ServiceError(
    "forbidden",
    `${path} belongs to another user: follow mode needs a repository of your own`,
  );
}

async function firstBytes(path: string): Promise<Uint8Array> {
  try {
    if (!(await fs.stat(path)).isFile()) return new Uint8Array();
    await using file = await fs.open(path, "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    // The target of a link.
    if (isAbsent(error)) return new Uint8Array();
    throw error;
  }
}

async function attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw refused(path, error);
  }
}

function refused(path: string, error: unknown): unknown {
  const isDenied = ["EACCES", "EPERM", "EROFS"].some((code) => isErrno(error, code));
  return isDenied ? new ServiceError("forbidden", `no permission for ${path}`, { cause: error }) : error;
}

function isAbsent(error: unknown): boolean {
  return isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR");
}
