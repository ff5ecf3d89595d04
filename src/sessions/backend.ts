// The interface to a set of sessions: the terminals of this process, those of another process, or a fleet of such
// processes. Routes and hub know only this file.

import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent, SessionEvent } from "../protocol/frame/event.ts";
import type { OutputDelivery } from "../protocol/frame/frame.ts";
import type { Resync } from "../protocol/frame/resync.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";

/** An event of a session, in order. `offset`: the number of output bytes before the event. */
export type Delivery =
  | OutputDelivery
  /** Output before its offset is not held any more. */
  | ({ readonly kind: "resync" } & Resync)
  | { readonly kind: "event"; readonly offset: number; readonly event: SessionEvent }
  /** The payload of a SNAPSHOT_VT: the screen as it is now. */
  | { readonly kind: "snapshot"; readonly payload: Uint8Array }
  /** The session is lost for good; nothing follows. */
  | { readonly kind: "lost"; readonly error: ServiceError };

/** Receives deliveries. It must neither throw nor block. */
export type Sink = (delivery: Delivery) => void;

export type Subscription = Disposable & {
  /** Delivery begins here: at the current end of the output, or shortly before it. */
  readonly offset: number;
  readonly record: SessionRecord;
  /** `view` cannot read earlier output; offsets are valid for this subscription only. */
  readonly isUnrecorded?: boolean;
  /** Changes the deliveries by flags of SubscribeFlag; a resync precedes new kinds. Absent: always output and events. */
  readonly request?: (flags: number) => Promise<void>;
};

/** A view of a session's output (contract 2.5). */
export type View =
  /** `scrollback`: with the lines above the screen. `styles`: runs of one style stand in `[style …]…[/style]`. */
  | { readonly kind: "text"; readonly scrollback: boolean; readonly styles: boolean }
  /** As a SNAPSHOT_VT. */
  | { readonly kind: "buffer" }
  /** A RESYNC payload. `isScreenOnly`: without scrollback and without the lines behind an alternate screen. */
  | { readonly kind: "resync"; readonly isScreenOnly?: boolean }
  /** The asciicast v2; with `follow` it continues until the exit. */
  | { readonly kind: "recording"; readonly follow: boolean }
  /** Server-sent events of the recording, after event number `after` (0 = from the beginning). */
  | { readonly kind: "stream"; readonly after: number }
  /** Raw bytes from `from` up to, not including, `to`. */
  | { readonly kind: "output"; readonly from: number; readonly to: number }
  /** JSON array of the journal's events at offsets from `from` on, without output. */
  | { readonly kind: "events"; readonly from: number };

/** The answer to a View: bytes of a media type, as they become available. */
export type Content = {
  readonly type: string;
  /** In bytes, if known in advance. */
  readonly length?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
};

/** A file on its way to a session. Its body throws if it is cut short. */
export type NewFile = { readonly name: string; readonly body: AsyncIterable<Uint8Array> };

/** The state that a session must be in to be ended or removed. */
export type RemovalCondition = "running" | "exited";

/** The refusal of a removal with the condition `exited`. */
export function stillRunning(id: string): ServiceError {
  return new ServiceError("session_running", `session ${id} is running: end it first`);
}

/** Methods with an id throw `session_not_found`; `write`, `resize` and `kill` also `session_not_running`. */
export type SessionBackend = AsyncDisposable & {
  list(): Promise<readonly SessionRecord[]>;
  /** All sessions as known now; `watch` reports every later change. */
  all(): readonly SessionRecord[];
  /** Synchronous if the session is known here. Promises for one id settle in order, which keeps input in order. */
  find(id: string): SessionRecord | Promise<SessionRecord>;
  get(id: string): Promise<SessionRecord>;
  /** Throws `invalid_cwd`, `command_not_found`, `session_exists`, `launch_failed`. */
  create(request: CreateSession): Promise<SessionRecord>;
  rename(id: string, name: string): Promise<SessionRecord>;
  /**
   * Ends a running session, removes an ended one with its recording (contract 2.3). With the condition `running` an ended
   * one stays as it is, and its exit is the answer. With `exited` a running one is refused as `session_running`.
   */
  remove(id: string, condition?: RemovalCondition): Promise<Removal>;
  /** Writes reach the program in the order of the calls, awaited or not. */
  write(id: string, input: Uint8Array): Promise<void>;
  resize(id: string, size: TerminalSize): Promise<void>;
  kill(id: string, signal: SignalName): Promise<void>;
  mark(id: string, label: string): Promise<void>;
  view(id: string, view: View, signal: AbortSignal): Promise<Content>;
  /** Saves a file in the session's current directory as its user. Never replaces a file; an incomplete one is removed. */
  saveFile(id: string, file: NewFile, signal: AbortSignal): Promise<SavedFile>;
  /** A regular file that the session's user may read; a relative path starts at the session's current directory. */
  openFile(id: string, path: string, signal: AbortSignal): Promise<Content>;
  /** Delivers all later events in order. At most one for each session. `flags`: initial deliveries; always the exit. */
  subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription>;
  /** Created, changed, ended and removed sessions, and the other events of specification 6. */
  watch(listener: (event: ServerEvent) => void): Disposable;
};
