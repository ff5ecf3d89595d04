import { z } from "zod";
import { GitNotification } from "../schemas/follow.ts";
import { SessionRecord } from "../schemas/session.ts";
import type { ServerEvent, SessionEvent } from "./event.ts";
import { decodeJson } from "./payload.ts";

const SessionEventSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("exit"),
    type: z.literal("session-exit"),
    sessionId: z.string(),
    exitCode: z.int(),
    signal: z.string().exactOptional(),
  }),
  z.object({ kind: z.literal("resize"), dimensions: z.string(), cols: z.int(), rows: z.int() }),
  z.object({ kind: z.literal("title"), title: z.string() }),
  z.object({ kind: z.literal("marker"), label: z.string() }),
  z.object({
    kind: z.literal("git-status"),
    type: z.literal("git-status-update"),
    sessionId: z.string(),
    ...{ gitModifiedCount: z.int(), gitAddedCount: z.int(), gitDeletedCount: z.int() },
    ...{ gitAheadCount: z.int(), gitBehindCount: z.int() },
  }),
]);

const ServerEventSchema = z.looseObject({
  type: z.enum([
    "connected",
    "session-start",
    "session-exit",
    "session-changed",
    "session-removed",
    "bell",
    "remote-joined",
    "remote-left",
    "git-notification",
    "test-notification",
    "command-finished",
  ]),
  timestamp: z.string(),
  epoch: z.string().exactOptional(),
  revision: z.int().exactOptional(),
  previous: z.int().exactOptional(),
  sessionId: z.string().exactOptional(),
  sessionName: z.string().exactOptional(),
  key: z.string().exactOptional(),
  record: SessionRecord.exactOptional(),
  owner: z.string().exactOptional(),
  exitCode: z.int().exactOptional(),
  remoteId: z.string().exactOptional(),
  remoteName: z.string().exactOptional(),
  notification: GitNotification.exactOptional(),
  sessionIds: z.array(z.string()).exactOptional(),
  command: z.string().exactOptional(),
  duration: z.int().exactOptional(),
  message: z.string().exactOptional(),
  title: z.string().exactOptional(),
  body: z.string().exactOptional(),
});

export type DecodedEvent =
  | { readonly scope: "session"; readonly event: SessionEvent }
  | { readonly scope: "server"; readonly event: ServerEvent };

/**
 * The payload of an EVENT frame. What concerns a session's own viewers carries `kind`, what concerns everybody a
 * `timestamp`; `undefined` for an event that is not known here: a newer server may send some. Throws PayloadError
 * where it is no JSON.
 */
export function decodeEvent(payload: Uint8Array): DecodedEvent | undefined {
  const value = decodeJson(payload);
  const own = SessionEventSchema.safeParse(value);
  if (own.success) return { scope: "session", event: own.data };
  const known = ServerEventSchema.safeParse(value);
  return known.success ? { scope: "server", event: known.data } : undefined;
}
