// Claiming a unix socket for one process, so that a claim ends with its process.
import { chmod, link, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { basename, dirname, join } from "node:path";
import { isErrno } from "../fs/atomic-file.ts";

/**
 * Renames the listening socket `temporary` to `path`, also over a dead process's socket. False if a live process has
 * it. The temporary name is removed; only the owner can open the socket (mode 0600). The owner is the process whose
 * socket is in the folder `path`.d: a folder can replace an empty one by rename, but not one with content. Each
 * owner's socket has a unique name there, so that removing a dead one never removes its successor's.
 */
export async function claimSocket(temporary: string, path: string): Promise<boolean> {
  const ticket = await makeTicket(temporary);
  try {
    while (!(await takesPlace(ticket, `${path}.d`))) {
      if (await hasOwner(`${path}.d`)) return false;
    }
    await rename(temporary, path);
    return true;
  } finally {
    await rm(ticket, { recursive: true, force: true });
    await rm(temporary, { force: true });
  }
}

/** Whether a process listens at the path, even if it is too busy to answer. */
export function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path, () => resolve(true));
  socket.once("error", (error) => resolve(!isErrno(error, "ECONNREFUSED", "ENOENT")));
  return promise.finally(() => socket.destroy());
}

/** A folder with the socket under a unique name. */
async function makeTicket(socket: string): Promise<string> {
  await chmod(socket, 0o600);
  const ticket = await mkdtemp(join(dirname(socket), ".socket-"));
  await link(socket, join(ticket, basename(ticket).slice(-6)));
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

/** False while the folder at the path has content. */
async function takesPlace(ticket: string, path: string): Promise<boolean> {
  try {
    await rename(ticket, path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOTEMPTY", "EEXIST")) return false;
    throw error;
  }
}
