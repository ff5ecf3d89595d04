// The authorized_keys files of one user, read with that user's rights, only where nobody else could have written them.
import type { Stats } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { collectBytes } from "../../lib/data/collect.ts";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { READ_FLAGS } from "../../lib/fs/open-flags.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_AUTHORIZED_KEYS_BYTES } from "../../protocol/limits.ts";
import type { KeyFiles, KeyOwner } from "../accounts/methods.ts";

/** Below a home: sshd's default `AuthorizedKeysFile`. */
const FILES = [".ssh/authorized_keys", ".ssh/authorized_keys2"];
const WRITABLE_BY_OTHERS = 0o022;

/** Nobody but this user and root may write between the file and `home`. */
type FileOwner = { readonly uid: number; readonly home: string };

/** A process that runs as root becomes the user for good, so it answers one call. */
export async function readKeyFiles({ home, user }: KeyOwner): Promise<KeyFiles> {
  if (user !== undefined && process.geteuid?.() === 0) become(user);
  const uid = process.geteuid?.() ?? 0;
  const found: KeyFiles = [];
  for (const name of FILES) {
    try {
      const bytes = await readKeyFile(join(home, name), { uid, home });
      if (bytes !== undefined) found.push({ content: Buffer.from(bytes).toString("base64") });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      found.push({ refusal: error.message });
    }
  }
  return found;
}

/** As sshd does before it opens the file, with the user's supplementary groups. */
function become({ name, uid, gid }: NonNullable<KeyOwner["user"]>): void {
  // NOTE: Node has initgroups since 0.9, its types do not.
  if (!("initgroups" in process) || typeof process.initgroups !== "function")
    throw new Error("no initgroups");
  process.initgroups(name, gid);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/**
 * The bytes of an authorized_keys file under sshd's `StrictModes`: a regular file that, like every directory above it up
 * to the home, belongs to the user or root and is writable by nobody else. In addition at most MAX_AUTHORIZED_KEYS_BYTES.
 * `undefined`: no such file. ServiceError `forbidden` with the reason, which is for the log.
 *
 * NOTE: this process must run as the user, as sshd does: root would follow a link to a file that the user cannot read.
 */
export async function readKeyFile(path: string, owner: FileOwner): Promise<Uint8Array | undefined> {
  try {
    await using file = await open(path, READ_FLAGS);
    const stats = await file.stat();
    if (!stats.isFile()) throw new ServiceError("forbidden", `${path} is not a regular file`);
    checkOwner(stats, path, owner);
    await checkDirectories(await realpath(path), owner);
    return await collectBytes(file.createReadStream({ autoClose: false }), MAX_AUTHORIZED_KEYS_BYTES);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (error instanceof RangeError)
      throw new ServiceError("forbidden", `${path} is larger than ${MAX_AUTHORIZED_KEYS_BYTES} bytes`);
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw new ServiceError("forbidden", `${path} cannot be read`, { cause: error });
  }
}

/** Up to the home, or to the root directory if the file is not below the home. */
async function checkDirectories(file: string, owner: FileOwner): Promise<void> {
  const home = await realpath(owner.home).catch(() => undefined);
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    checkOwner(await stat(directory), directory, owner);
    if (directory === home || directory === dirname(directory)) return;
  }
}

function checkOwner({ uid, mode }: Stats, path: string, owner: FileOwner): void {
  if (uid !== 0 && uid !== owner.uid) throw new ServiceError("forbidden", `${path} belongs to another user`);
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new ServiceError("forbidden", `${path} is writable by others: chmod go-w`);
}
