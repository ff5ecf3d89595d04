// How one process alone has a unix socket: by a name that is worth nothing once the process is dead.
import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";

/** The path of a unix socket that every system takes: 103 bytes on macOS, 107 on Linux. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The longest that is put behind a directory here. */
const LONGEST_NAME = "/server.sock.d/12345678";
/** The longest path of a directory in which sockets are claimed. */
export const MAX_SOCKET_DIRECTORY_BYTES = MAX_SOCKET_PATH_BYTES - LONGEST_NAME.length;

/** What the system says of a path at which no process listens: a dead one's socket, or nothing at all. */
const DEAD = ["ECONNREFUSED", "ENOENT"];
/** What it says where a folder stands in the way that is not empty. */
const TAKEN = ["ENOTEMPTY", "EEXIST"];

/** Where a process listens until it has claimed `path`. */
export function temporarySocketPath(path: string, pid: number): string {
  return `${path}.${pid}`;
}

/**
 * Puts the listening socket at `temporary` under the name `path`, which a dead process may have left behind. False when
 * a living one has it. The temporary name is gone afterwards; nobody but its owner can open the socket (mode 0600).
 *
 * The owner is who has its socket in the folder `path`.d: a folder can be renamed to the name of an empty one, and not
 * to that of one with something in it. A dead owner's socket has a name of its own, so whoever removes it from there
 * can never remove that of the owner after it.
 */
export async function claimSocket(temporary: string, path: string): Promise<boolean> {
  const ticket = await makeTicket(temporary);
  try {
    for (;;) {
      if (await succeeds(rename(ticket, `${path}.d`), TAKEN)) break;
      if (await hasOwner(`${path}.d`)) return false;
    }
    await rename(temporary, path);
    return true;
  } finally {
    await rm(ticket, { recursive: true, force: true });
    await rm(temporary, { force: true });
  }
}

/** Whether a living process listens at that path, be it too busy to answer. */
export function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path, () => resolve(true));
  socket.once("error", (error) => resolve(!hasCode(error, DEAD)));
  return promise.finally(() => socket.destroy());
}

/** A folder with the socket in it, under a name that no other ever has. */
async function makeTicket(socket: string): Promise<string> {
  const name = randomBytes(6).toString("base64url");
  const ticket = join(dirname(socket), `.${name}`);
  await chmod(socket, 0o600);
  await mkdir(ticket, { mode: 0o700 });
  await link(socket, join(ticket, name));
  return ticket;
}

async function hasOwner(folder: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    const socket = join(folder, name);
    if (await answers(socket)) return true;
    await rm(socket, { force: true });
  }
  return false;
}

async function succeeds(work: Promise<void>, refusals: readonly string[]): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (hasCode(error, refusals)) return false;
    throw error;
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
