import {
  access,
  chmod,
  constants,
  lchown,
  link,
  lstat,
  mkdir,
  open,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, replaceFile } from "../lib/atomic-file.ts";
import type { Files } from "./files.ts";

/** Longer than any hook of ours, and than what anybody has git ignore. */
export const MAX_FILE_BYTES = 1024 * 1024;
const PERMISSIONS = 0o7777;

/** Files as the server's own user. Of root's, what is new belongs to whom the folder belongs to. */
export const ownFiles: Files = {
  look: async (path) => {
    try {
      const found = await lstat(path);
      const target = found.isSymbolicLink() ? await readlink(path) : undefined;
      const mode = found.mode & PERMISSIONS;
      const isWhole = found.isFile() && found.size <= MAX_FILE_BYTES;
      return { bytes: await firstBytes(path), isWhole, mode, target };
    } catch (error) {
      if (isNothing(error)) return undefined;
      throw error;
    }
  },
  write: async (path, bytes, mode) => {
    await replaceFile(path, bytes, mode);
    // Whatever the umask allows less.
    await chmod(path, mode);
    await give(path);
  },
  makeFolder: async (path) => {
    const made = await mkdir(path, { recursive: true });
    if (made !== undefined) await give(path);
    return made !== undefined;
  },
  isWritable: async (folder) => {
    for (let at = folder; ; at = dirname(at)) {
      try {
        await access(at, constants.W_OK | constants.X_OK);
        return true;
      } catch (error) {
        if (!isErrno(error, "ENOENT") || at === "/") return false;
      }
    }
  },
  keep: async (path, kept) => await link(path, kept).catch(() => rename(path, kept)),
  link: async (target, path) => {
    await rm(path, { force: true });
    await symlink(target, path);
  },
  move: rename,
  remove: (path) => rm(path, { force: true }),
  removeEmpty: (path) => rmdir(path).catch(() => undefined),
};

async function firstBytes(path: string): Promise<Uint8Array> {
  try {
    if (!(await stat(path)).isFile()) return new Uint8Array();
    await using file = await open(path, "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    // Behind a link.
    if (isNothing(error)) return new Uint8Array();
    throw error;
  }
}

function isNothing(error: unknown): boolean {
  return isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR");
}

async function give(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dirname(path));
  await lchown(path, uid, gid);
}
