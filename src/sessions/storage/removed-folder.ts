// How the folder of a session goes: whole, or after a crash in the middle not as a session any more.
import { randomUUID } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";

/** Not a valid session id. */
const PREFIX = ".removed-";

/** The returned function may be repeated. It never removes a later session of the same name. */
export function folderRemoval(directory: string): () => Promise<void> {
  const removed = join(dirname(directory), `${PREFIX}${basename(directory)}-${randomUUID()}`);
  let isAside = false;
  return async () => {
    if (!isAside) await rename(directory, removed).catch(unlessMissing);
    isAside = true;
    await rm(removed, { recursive: true, force: true });
  };
}

/** Names of the session folders; completes removals of an earlier process. */
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
