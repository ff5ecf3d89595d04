// What an EVENT frame carries (contract 1.8; facts 1.8 and 1.9). Old clients look at `kind` or at `type`: ours carry both.

import { keyOf } from "../directory/session-change.ts";
import type { GitNotification } from "../schemas/follow.ts";
import type { GitStatus, SessionRecord, TerminalSize } from "../schemas/session.ts";

export type ExitEvent = {
  readonly kind: "exit";
  readonly type: "session-exit";
  readonly sessionId: string;
  readonly exitCode: number;
  readonly signal?: string;
};

export type ResizeEvent = TerminalSize & { readonly kind: "resize"; readonly dimensions: string };

/** The program set another title, or somebody gave the session another name. */
export type TitleEvent = { readonly kind: "title"; readonly title: string };

export type MarkerEvent = { readonly kind: "marker"; readonly label: string };

/** How many files of the session's working tree are changed; "added" are those that git does not track (facts 1.8). */
export type GitStatusEvent = {
  readonly kind: "git-status";
  readonly type: "git-status-update";
  readonly sessionId: string;
  readonly gitModifiedCount: number;
  readonly gitAddedCount: number;
  readonly gitDeletedCount: number;
  readonly gitAheadCount: number;
  readonly gitBehindCount: number;
};

export type SessionEvent = GitStatusEvent | ExitEvent | ResizeEvent | TitleEvent | MarkerEvent;

/** To everyone who subscribed to the empty session id with the Events flag. Undefined members are left out. */
export type ServerEvent = {
  readonly type:
    | "connected"
    | "session-start"
    | "session-exit"
    | "session-changed"
    | "session-removed"
    | "bell"
    | "remote-joined"
    | "remote-left"
    | "git-notification"
    | "test-notification"
    | "command-finished";
  readonly timestamp: string;
  /** Where the source's changes of sessions are after this one, and the revision that was sent before it. */
  readonly epoch?: string;
  readonly revision?: number;
  readonly previous?: number;
  readonly sessionId?: string;
  readonly sessionName?: string;
  /** Identifies the session for good. */
  readonly key?: string;
  /** The whole session, where it started, changed or ended. */
  readonly record?: SessionRecord;
  /** Whose session it is. */
  readonly owner?: string;
  readonly exitCode?: number;
  readonly remoteId?: string;
  readonly remoteName?: string;
  /** What follow mode tells, and in which sessions' repository. */
  readonly notification?: GitNotification;
  readonly sessionIds?: readonly string[];
  /** What ran in the session's foreground, and for how long, in milliseconds. */
  readonly command?: string;
  readonly duration?: number;
  /** For a person to read, with its heading and its text. */
  readonly message?: string;
  readonly title?: string;
  readonly body?: string;
};

/** What clients are told when something happened to a session. */
export function sessionEvent(type: ServerEvent["type"], record: SessionRecord): ServerEvent {
  const { id, name, owner, exitCode } = record;
  return {
    ...{ type, timestamp: new Date().toISOString(), sessionId: id, sessionName: name, key: keyOf(record) },
    ...(owner === undefined ? {} : { owner }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(CHANGES.has(type) && type !== "session-removed" ? { record } : {}),
  };
}

/** A bell, a finished command and a remote that joins change no record. */
const CHANGES: ReadonlySet<ServerEvent["type"]> = new Set([
  "session-start",
  "session-changed",
  "session-exit",
  "session-removed",
  "remote-left",
]);

/** Whether the list of sessions is another one after it. */
export function isSessionChange({ type }: ServerEvent): boolean {
  return CHANGES.has(type);
}

export function resizeEvent(size: TerminalSize): ResizeEvent {
  return { kind: "resize", dimensions: `${size.cols}x${size.rows}`, cols: size.cols, rows: size.rows };
}

/** `undefined` where the counts are not known: outside a repository, and of a bare one. */
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
