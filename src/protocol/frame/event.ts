// Payloads of EVENT frames (contract 1.8; facts 1.8 and 1.9). VibeTunnel's clients check `kind` or `type`: ours have both.
import { z } from "zod";
import { keyOf } from "../directory/session-change.ts";
import { MAX_EVENT_BYTES } from "../limits.ts";
import { GitNotification } from "../schemas/follow.ts";
import { type GitStatus, SessionRecord, sizeText, TerminalSize } from "../schemas/session.ts";
import { SessionViewer } from "../schemas/viewer.ts";
import { decodeJson } from "./payload.ts";

const Exit = z.object({
  kind: z.literal("exit"),
  type: z.literal("session-exit"),
  sessionId: z.string(),
  exitCode: z.int(),
  signal: z.string().exactOptional(),
});
export type ExitEvent = Readonly<z.infer<typeof Exit>>;

const Resize = z.object({ kind: z.literal("resize"), dimensions: z.string(), ...TerminalSize.shape });
export type ResizeEvent = Readonly<z.infer<typeof Resize>>;

/** Numbers of changed files in the session's worktree; "added" are untracked files (facts 1.8). */
const GitStatusCounts = z.object({
  kind: z.literal("git-status"),
  type: z.literal("git-status-update"),
  sessionId: z.string(),
  ...{ gitModifiedCount: z.int(), gitAddedCount: z.int(), gitDeletedCount: z.int() },
  ...{ gitAheadCount: z.int(), gitBehindCount: z.int() },
});
export type GitStatusEvent = Readonly<z.infer<typeof GitStatusCounts>>;

/** To the viewers of a session. `title`: a new title of the program, or a new name of the session. */
const OfSession = z.discriminatedUnion("kind", [
  Exit,
  Resize,
  GitStatusCounts,
  z.object({ kind: z.literal("title"), title: z.string() }),
  z.object({ kind: z.literal("marker"), label: z.string() }),
]);
export type SessionEvent = Readonly<z.infer<typeof OfSession>>;

/** To all clients that subscribed to the empty session id with the Events flag. */
const OfServer = z.object({
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
    "program-notification",
    "waiting-for-input",
  ]),
  timestamp: z.string(),
  /** The position of the source after this change, and the revision that was sent before it. */
  epoch: z.string().exactOptional(),
  revision: z.int().exactOptional(),
  previous: z.int().exactOptional(),
  sessionId: z.string().exactOptional(),
  sessionName: z.string().exactOptional(),
  key: z.string().exactOptional(),
  /** The whole session after its start, change or end. */
  record: SessionRecord.exactOptional(),
  owner: z.string().exactOptional(),
  exitCode: z.int().exactOptional(),
  remoteId: z.string().exactOptional(),
  remoteName: z.string().exactOptional(),
  /** A notification of follow mode, and the sessions in that repository. */
  notification: GitNotification.exactOptional(),
  sessionIds: z.array(z.string()).readonly().exactOptional(),
  /** The command that finished in the session's foreground, and its duration in milliseconds. */
  command: z.string().exactOptional(),
  duration: z.int().exactOptional(),
  /** Text for the user, with its title and body. */
  message: z.string().exactOptional(),
  title: z.string().exactOptional(),
  body: z.string().exactOptional(),
});
export type ServerEvent = Readonly<z.infer<typeof OfServer>>;

/** To the viewers of a session that ask, from the server that they are connected to; never passed on. */
const OfViewers = z.object({ kind: z.literal("viewers"), viewers: z.array(SessionViewer) });

const LooseServerEvent = OfServer.loose();

type DecodedEvent =
  | { readonly scope: "viewers"; readonly event: z.infer<typeof OfViewers> }
  | { readonly scope: "session"; readonly event: SessionEvent }
  | { readonly scope: "server"; readonly event: ServerEvent };

/**
 * Decodes the payload of an EVENT frame. Events of a session have a `kind`, events of the server a `timestamp`. `undefined`
 * for an unknown event, perhaps of a newer server, and for a longer one than MAX_EVENT_BYTES. Throws `invalid_request` if it is not JSON.
 */
export function decodeEvent(payload: Uint8Array): DecodedEvent | undefined {
  if (payload.length > MAX_EVENT_BYTES) return undefined;
  const value = decodeJson(payload);
  const { kind }: { readonly kind?: unknown } = Object(value);
  // A parse collects an issue for each wrong element, of which a remote may send millions; this ends with the first one.
  if (kind !== undefined) {
    if (OfSession.validate(value)) return { scope: "session", event: OfSession.parse(value) };
    if (OfViewers.validate(value)) return { scope: "viewers", event: OfViewers.parse(value) };
  }
  return LooseServerEvent.validate(value)
    ? { scope: "server", event: LooseServerEvent.parse(value) }
    : undefined;
}

export function sessionEvent(type: ServerEvent["type"], record: SessionRecord): ServerEvent {
  const { id, name, owner, exitCode } = record;
  return {
    ...{ type, timestamp: new Date().toISOString(), sessionId: id, sessionName: name, key: keyOf(record) },
    ...(owner === undefined ? {} : { owner }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(CHANGES.has(type) && type !== "session-removed" ? { record } : {}),
  };
}

const CHANGES: ReadonlySet<ServerEvent["type"]> = new Set([
  "session-start",
  "session-changed",
  "session-exit",
  "session-removed",
  "remote-left",
]);

/** Whether the event changes the list of sessions. */
export function isSessionChange({ type }: ServerEvent): boolean {
  return CHANGES.has(type);
}

export function resizeEvent(size: TerminalSize): ResizeEvent {
  return { kind: "resize", dimensions: sizeText(size), cols: size.cols, rows: size.rows };
}

/** `undefined` if the counts are unknown: outside a repository, or in a bare one. */
export function gitStatusEvent(sessionId: string, status: GitStatus): GitStatusEvent | undefined {
  const { gitModifiedCount, gitAddedCount = 0, gitDeletedCount = 0 } = status;
  if (gitModifiedCount === undefined) return undefined;
  const { gitAheadCount = 0, gitBehindCount = 0 } = status;
  return {
    ...{ kind: "git-status", type: "git-status-update", sessionId },
    ...{ gitModifiedCount, gitAddedCount, gitDeletedCount, gitAheadCount, gitBehindCount },
  };
}

export function exitEvent(sessionId: string, exitCode: number, signal: string | undefined): ExitEvent {
  const event = { kind: "exit", type: "session-exit", sessionId, exitCode } as const;
  return signal === undefined ? event : { ...event, signal };
}
