// What an EVENT frame carries (contract 1.8; facts 1.8 and 1.9). Old clients look at `kind` or at `type`: ours carry both.
import type { GitNotification } from "./follow.ts";
import type { TerminalSize } from "./session.ts";

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

export type SessionEvent = ExitEvent | ResizeEvent | TitleEvent | MarkerEvent;

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
    | "test-notification";
  readonly timestamp: string;
  readonly sessionId?: string;
  readonly sessionName?: string;
  /** Whose session it is. */
  readonly owner?: string;
  readonly exitCode?: number;
  readonly remoteId?: string;
  readonly remoteName?: string;
  /** What follow mode tells, and in which sessions' repository. */
  readonly notification?: GitNotification;
  readonly sessionIds?: readonly string[];
  /** For a person to read, with its heading and its text. */
  readonly message?: string;
  readonly title?: string;
  readonly body?: string;
};

export function resizeEvent(size: TerminalSize): ResizeEvent {
  return { kind: "resize", dimensions: `${size.cols}x${size.rows}`, cols: size.cols, rows: size.rows };
}

export function exitEvent(sessionId: string, exitCode: number, signal: string | undefined): ExitEvent {
  const event = { kind: "exit", type: "session-exit", sessionId, exitCode } as const;
  return signal === undefined ? event : { ...event, signal };
}
