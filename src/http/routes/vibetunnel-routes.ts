import type { Principal } from "../../auth/principal.ts";
import { eventStream } from "../../hub/legacy/event-stream.ts";
import type { Peer } from "../../hub/outbox.ts";
import { refuseResetSize } from "../../hub/requests.ts";
import type { Viewer } from "../../hub/viewer/viewer.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Context, Routes } from "../route.ts";

/** A session is active for this time after its last output. */
const ACTIVE_MS = 1_000;

/** Endpoints of VibeTunnel's page besides sessions (facts 3). */
export function vibeTunnelRoutes(parts: {
  readonly sessionsOf: (principal: Principal) => SessionBackend;
  /** ServiceError `rate_limited` for too many connections. */
  readonly connector: (context: Context) => (peer: Peer) => Viewer;
  readonly version: string;
  readonly isHq: boolean;
  readonly now: () => number;
}): Routes {
  const { sessionsOf, connector, version, isHq, now } = parts;
  return {
    listActivity: async (_, { principal }) =>
      Object.fromEntries(
        (await sessionsOf(principal).list()).map((session) => [session.id, activity(session, now())]),
      ),
    sessionActivity: async ({ params }, { principal }) =>
      activity(await sessionsOf(principal).get(params.id), now()),
    sessionGitStatus: async ({ params }, { principal }) =>
      gitStatus(await sessionsOf(principal).get(params.id)),
    resetSessionSize: ({ params }, { principal }) => refuseResetSize(sessionsOf(principal), params.id),
    serverStatus: async () => ({ macAppConnected: false, isHQMode: isHq, version }),
    serverEvents: async (_, context) => ({
      type: "text/event-stream",
      headers: { "cache-control": "no-cache", "x-accel-buffering": "no" },
      body: eventStream(connector(context), context.signal),
    }),
  };
}

function activity(session: SessionRecord, nowMs: number) {
  const isActive = session.status === "running" && nowMs - Date.parse(session.lastModified) < ACTIVE_MS;
  return { isActive, timestamp: new Date(nowMs).toISOString(), session };
}

function gitStatus(session: SessionRecord) {
  return {
    modified: session.gitModifiedCount ?? 0,
    added: session.gitAddedCount ?? 0,
    staged: session.gitStagedCount ?? 0,
    deleted: session.gitDeletedCount ?? 0,
    ahead: session.gitAheadCount ?? 0,
    behind: session.gitBehindCount ?? 0,
  };
}
