// How one process alone has a unix socket: by its name, which the file system gives to one at a time and which is worth
// nothing once that process is dead.
import { chmod, link, rename, rm } from "node:fs/promises";
import { connect } from "node:net";

/**
 * Puts the listening socket at `temporary` under the name `path`, which a dead process may have left behind. False when
 * a living one has it. The temporary name is gone afterwards; nobody but its owner can open the socket (mode 0600).
 */
export async function claimSocket(temporary: string, path: string): Promise<boolean> {
  try {
    await chmod(temporary, 0o600);
    for (;;) {
      if (await tryLink(temporary, path)) return true;
      if (await answers(path)) return false;
      const stale = `${temporary}.stale`;
      await rename(path, stale).catch(() => {});
      // Another host may have claimed the name in between; then it was a living one that was moved away.
      if ((await answers(stale)) && (await tryLink(stale, path))) {
        await rm(stale, { force: true });
        return false;
      }
      await rm(stale, { force: true });
    }
  } finally {
    await rm(temporary, { force: true });
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** Whether a living process listens at that path. */
export function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path, () => resolve(true));
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
