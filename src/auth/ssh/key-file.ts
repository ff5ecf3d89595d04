// A file that says who gets in: read only where nobody else could have written it.
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { collectBytes } from "../../lib/collect.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_AUTHORIZED_KEYS_BYTES } from "../../protocol/limits.ts";

/** Whose file it is, and up to which directory nobody else may write. */
export type FileOwner = { readonly uid: number; readonly gid: number; readonly home: string };

const WRITABLE_BY_OTHERS = 0o022;
const READ = 4;
const ENTER = 1;
/** Names a file without opening it; Node has no name for it. */
const O_PATH = 0o10000000;
const isLinux = process.platform === "linux";

/**
 * The bytes of an authorized_keys file under the rules of sshd (`StrictModes`): a regular file that, with every directory
 * above it up to the user's home, belongs to the user or root and is writable by nobody else. Beyond those of sshd, at
 * most MAX_AUTHORIZED_KEYS_BYTES. `undefined`: there is no such file. ServiceError `forbidden`: it does not count, with
 * the reason, which is for the log.
 *
 * sshd opens the file as the user. A server that runs as root asks the modes instead whether that user could, without
 * the user's further groups. It opens nothing but regular files: opening a device may already do something.
 */
export async function readKeyFile(path: string, owner: FileOwner): Promise<Uint8Array | undefined> {
  try {
    await using pinned = await open(path, isLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK);
    checkFile(await pinned.stat(), path, owner);
    await checkDirectories(await realpath(path), owner);
    if (!isLinux) return await readAll(pinned, path);
    await using readable = await open(`/proc/self/fd/${pinned.fd}`, constants.O_RDONLY);
    return await readAll(readable, path);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new ServiceError("forbidden", `${path} cannot be read`, { cause: error });
  }
}

function checkFile(stats: Stats, path: string, owner: FileOwner): void {
  if (!stats.isFile()) throw new ServiceError("forbidden", `${path} is not a regular file`);
  checkOwner(stats, path, owner);
  if (!mayDo(READ, stats, owner)) throw new ServiceError("forbidden", `its user may not read ${path}`);
}

/** Up to the home nobody else may write; further up the user has to come through. */
async function checkDirectories(file: string, owner: FileOwner): Promise<void> {
  const home = await realpath(owner.home).catch(() => undefined);
  let isStrict = true;
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    const stats = await stat(directory);
    if (isStrict) checkOwner(stats, directory, owner);
    if (!mayDo(ENTER, stats, owner))
      throw new ServiceError("forbidden", `its user may not enter ${directory}`);
    if (directory === home) isStrict = false;
    if (directory === dirname(directory)) return;
  }
}

function checkOwner({ uid, mode }: Stats, path: string, owner: FileOwner): void {
  if (uid !== 0 && uid !== owner.uid) {
    throw new ServiceError("forbidden", `${path} belongs to somebody else`);
  }
  if ((mode & WRITABLE_BY_OTHERS) !== 0) {
    throw new ServiceError("forbidden", `${path} is writable by others: chmod go-w`);
  }
}

/** Whether the modes let that user; of anybody but root the kernel asks this itself when the file is opened. */
function mayDo(what: number, { uid, gid, mode }: Stats, owner: FileOwner): boolean {
  if (process.geteuid?.() !== 0 || owner.uid === 0) return true;
  const shift = uid === owner.uid ? 6 : gid === owner.gid ? 3 : 0;
  return ((mode >> shift) & what) !== 0;
}

async function readAll(file: FileHandle, path: string): Promise<Uint8Array> {
  try {
    const stream = file.createReadStream({ autoClose: false });
    return await collectBytes(stream, MAX_AUTHORIZED_KEYS_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ServiceError("forbidden", `${path} is larger than ${MAX_AUTHORIZED_KEYS_BYTES} bytes`);
  }
}
