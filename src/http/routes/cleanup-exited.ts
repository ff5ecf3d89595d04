import { ServiceError } from "../../protocol/errors.ts";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";

/** What was removed; `remoteName` is absent for this machine. */
type Removed = { readonly ids: readonly string[]; readonly error?: string };

/** What POST /api/cleanup-exited answers. */
export type Cleanup = {
  success: true;
  message: string;
  localCleaned: number;
  cleanedSessions: string[];
  remoteResults: { remoteName: string; cleaned: number; error?: string }[];
};

/**
 * Removes the ended ones of these sessions, all machines side by side. A remote that fails is told of in its result and
 * holds up no other; what fails on this machine is thrown. `remotes`: the names of an HQ's remotes.
 */
export async function cleanUpExited(
  sessions: Pick<SessionBackend, "list" | "remove">,
  remotes: readonly string[],
): Promise<Cleanup> {
  const ended = (await sessions.list()).filter(({ status }) => status === "exited");
  const byMachine = Map.groupBy(ended, ({ remoteName = LOCAL }) => remoteName);
  const names = new Set([...remotes, ...byMachine.keys()].filter((name) => name !== LOCAL));
  const [own, ...others] = await Promise.all([
    removeAll(sessions, byMachine.get(LOCAL) ?? []),
    ...[...names].map(async (remoteName) => {
      const { ids, error } = await attempt(sessions, byMachine.get(remoteName) ?? []);
      return { ids, result: { remoteName, cleaned: ids.length, ...(error === undefined ? {} : { error }) } };
    }),
  ]);
  const cleanedSessions = [...own, ...others.flatMap(({ ids }) => ids)];
  return {
    success: true,
    message: `${cleanedSessions.length} exited sessions cleaned up across all servers`,
    localCleaned: own.length,
    cleanedSessions,
    remoteResults: others.map(({ result }) => result),
  };
}

async function attempt(
  sessions: Pick<SessionBackend, "remove">,
  records: readonly SessionRecord[],
): Promise<Removed> {
  const ids: string[] = [];
  try {
    await removeAll(sessions, records, ids);
    return { ids };
  } catch (error) {
    if (error instanceof ServiceError) return { ids, error: error.message };
    throw error;
  }
}

/** `removed`: those that were, also where a later one fails. */
async function removeAll(
  sessions: Pick<SessionBackend, "remove">,
  records: readonly SessionRecord[],
  removed: string[] = [],
): Promise<readonly string[]> {
  for (const { id } of records) if (await wasRemoved(sessions, id)) removed.push(id);
  return removed;
}

/** False when somebody else was faster. */
async function wasRemoved(sessions: Pick<SessionBackend, "remove">, id: string): Promise<boolean> {
  try {
    await sessions.remove(id);
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "session_not_found") return false;
    throw error;
  }
}
