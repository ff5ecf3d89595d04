import type { EndpointOutput } from "../../protocol/endpoints/endpoint.ts";
import type { Endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";

/**
 * Removes ended sessions, all machines in parallel. A remote that fails is reported in its result; a failure on this machine
 * is thrown. `remotes`: the names of an HQ's remotes.
 */
export async function cleanUpExited(
  sessions: Pick<SessionBackend, "list" | "remove">,
  remotes: readonly string[],
): Promise<EndpointOutput<Endpoints["cleanupExited"]>> {
  const ended = (await sessions.list()).filter(({ status }) => status === "exited");
  const byMachine = Map.groupBy(ended, ({ remoteName = LOCAL }) => remoteName);
  const names = new Set([LOCAL, ...remotes, ...byMachine.keys()]);
  const results = await Promise.all(
    [...names].map(async (name) => {
      const { ids, error } = await removeAll(sessions, byMachine.get(name) ?? []);
      if (error !== undefined && (name === LOCAL || !(error instanceof ServiceError))) throw error;
      return { name, ids, ...(error instanceof ServiceError ? { error: error.message } : {}) };
    }),
  );
  const cleanedSessions = results.flatMap(({ ids }) => ids);
  const [own, ...others] = results;
  return {
    success: true,
    message: `${cleanedSessions.length} exited sessions cleaned up across all servers`,
    localCleaned: own?.ids.length ?? 0,
    cleanedSessions,
    remoteResults: others.map(({ name, ids, ...rest }) => ({
      remoteName: name,
      cleaned: ids.length,
      ...rest,
    })),
  };
}

/** A session that runs is a new one with the same id. */
const REMOVED_BY_OTHERS: ReadonlySet<string> = new Set(["session_not_found", "session_running"]);

/** Stops at the first failure. Sessions that another client removed do not count. */
async function removeAll(
  sessions: Pick<SessionBackend, "remove">,
  records: readonly SessionRecord[],
): Promise<{ readonly ids: readonly string[]; readonly error?: unknown }> {
  const ids: string[] = [];
  for (const { id } of records) {
    try {
      await sessions.remove(id, "exited");
      ids.push(id);
    } catch (error) {
      if (!(error instanceof ServiceError && REMOVED_BY_OTHERS.has(error.code))) return { ids, error };
    }
  }
  return { ids };
}
