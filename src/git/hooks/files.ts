// Files of a repository that git has no command for: hooks, and patterns that git ignores. Paths are absolute.
import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";

export type FoundFile = {
  /** `undefined` for a symbolic link, another kind of file, and one over MAX_FILE_BYTES. */
  readonly bytes: Buffer | undefined;
  /** Permissions alone. */
  readonly mode: number;
  /** Of a symbolic link: its target. */
  readonly target: string | undefined;
};

/** Longer than our hooks, and than any usual ignore file. */
const MAX_FILE_BYTES = 1024 * 1024;
const PERMISSIONS = 0o7777;

/** Settles as `work` does, with ServiceError `forbidden` where the system denies this user access to a file. */
export async function permitted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isErrno(error, "EACCES", "EPERM", "EROFS")) throw error;
    const path = error instanceof Error && "path" in error ? `${error.path}` : "a file of the repository";
    throw new ServiceError("forbidden", `no permission for ${path}`, { cause: error });
  }
}

/** `undefined`: there is no file of that name. */
export async function readFound(path: string): Promise<FoundFile | undefined> {
  try {
    const found = await fs.lstat(path);
    const target = found.isSymbolicLink() ? await fs.readlink(path) : undefined;
    const isRead = found.isFile() && found.size <= MAX_FILE_BYTES;
    return { bytes: isRead ? await fs.readFile(path) : undefined, mode: found.mode & PERMISSIONS, target };
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Whether files could be created there; of a missing folder, whether it could be created. */
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

export async function removeEmptyFolder(path: string): Promise<void> {
  await fs.rmdir(path).catch(() => undefined);
}

/** Throws `forbidden` for a folder of another user, whose hooks and filters must not run as this user. */
export async function requireOwn(path: string): Promise<void> {
  const { uid } = await permitted(() => fs.lstat(path));
  if (uid === process.geteuid?.()) return;
  throw new ServiceError(
    "forbidden",
    `${path} belongs to another user: follow mode needs a repository of your own`,
  );
}
