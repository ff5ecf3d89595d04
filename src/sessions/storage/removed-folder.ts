// How the folder of a session goes: whole, or after a crash in the middle not as a session any more.
import { randomUUID } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno } from "../../lib/fs/atomic-file.ts";

/** No session can be called so. */
const PREFIX = ".removed-";

/** What it returns may be called again where it failed. Another session may have the folder's name by then: hers stays. */
export function folderRemoval(directory: string): () => Promise<void> {
  const removed = join(dirname(directory), `${PREFIX}${basename(directory)}-${randomUUID()}`);
  let isAside = false;
  return async () => {
    if (!isAside) await rename(directory, removed).catch(unlessGone);
    isAside = true;
    await rm(removed, { recursive: true, force: true });
  };
}

function unlessGone(error: unknown): void {
  if (!isErrno(error, "ENOENT")) throw error;
}

/** Names of what lies in the sessions' directory, without what an earlier process was removing: that goes for good. */
export async function sessionFolders(
  directory: string,
  onFailure: (name: string, error: unknown) => void,
): Promise<readonly string[]> {
  const names = await readdir(directory);
  for (const name of names.filter((each) => each.startsWith(PREFIX))) {
    await rm(join(directory, name), { recursive: true, force: true }).catch((error: unknown) =>
      onFailure(name, error),
    );
  }
  return names.filter((name) => !name.startsWith(PREFIX));
}
