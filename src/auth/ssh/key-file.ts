// A file that says who gets in: read only where nobody else could have written it.
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { collectBytes } from "../../lib/data/collect.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_AUTHORIZED_KEYS_BYTES } from "../../protocol/limits.ts";

/** Whose file it is, and up to which directory nobody else may write. */
export type FileOwner = { readonly uid: number; readonly home: string };

const WRITABLE_BY_OTHERS = 0o022;
/** A pipe without a writer does not block, and a terminal does not become that of this process. */
const HOW = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * The bytes of an authorized_keys file under the rules of sshd (`StrictModes`): a regular file that, with every directory
 * above it up to the user's home, belongs to the user or root and is writable by nobody else. Beyond those of sshd, at
 * most MAX_AUTHORIZED_KEYS_BYTES. `undefined`: there is no such file. ServiceError `forbidden`: it does not count, with
 * the reason, which is for the log.
 *
 * NOTE: this process must run as the user, as sshd does for it. The kernel then decides what the user's links, devices
 * and directories lead to; root would follow a link to a file that the user cannot read.
 */
export async function readKeyFile(path: string, owner: FileOwner): Promise<Uint8Array | undefined> {
  try {
    await using file = await open(path, HOW);
    const stats = await file.stat();
    if (!stats.isFile()) throw new ServiceError("forbidden", `${path} is not a regular file`);
    checkOwner(stats, path, owner);
    await checkDirectories(await realpath(path), owner);
    return await readAll(file, path);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new ServiceError("forbidden", `${path} cannot be read`, { cause: error });
  }
}

/** Up to the home, or to the root where the file is not below it. */
async function checkDirectories(file: string, owner: FileOwner): Promise<void> {
  const home = await realpath(owner.home).catch(() => undefined);
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    checkOwner(await stat(directory), directory, owner);
    if (directory === home || directory === dirname(directory)) return;
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

async function readAll(file: FileHandle, path: string): Promise<Uint8Array> {
  try {
    const stream = file.createReadStream({ autoClose: false });
    return await collectBytes(stream, MAX_AUTHORIZED_KEYS_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ServiceError("forbidden", `${path} is larger than ${MAX_AUTHORIZED_KEYS_BYTES} bytes`);
  }
}
