// The interface that everything turns on: where sessions come from. Three implementations: the terminals of this
// process, another process reached over HTTP and /ws, and a fleet of those. Routes and hub know only this file.

import type { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent, SessionEvent } from "../protocol/frame/event.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";

/**
 * An event of a session, in order. `offset` counts output bytes since the start: of the first byte for output, else of
 * the bytes before the event.
 */
export type Delivery =
  /** `frame` is the whole OUTPUT frame (magic VT) that carries `bytes`; it is shared and must not be written to. */
  | {
      readonly kind: "output";
      readonly offset: number;
      readonly bytes: Uint8Array;
      readonly frame: Uint8Array;
    }
  /** Output before `offset` is not held any more; `bytes` draw the screen on a terminal reset to that size. */
  | {
      readonly kind: "resync";
      readonly offset: number;
      readonly size: TerminalSize;
      readonly bytes: Uint8Array;
    }
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
  /**
   * Changes what is delivered, by flags of SubscribeFlag; newly delivered output or events begin with a resync. Absent:
   * output and events are always delivered, and snapshots never.
   */
  readonly request?: (flags: number) => Promise<void>;
};

/** A view of a session's output (contract 2.5). */
export type View =
  | { readonly kind: "text"; readonly scrollback: boolean; readonly styles: boolean }
  /** A SNAPSHOT_VT of the screen. */
  | { readonly kind: "buffer" }
  /**
   * A RESYNC payload that draws the screen with its scrollback. `isScreenOnly`: without scrollback and without the
   * lines behind an alternate screen.
   */
  | { readonly kind: "resync"; readonly isScreenOnly?: boolean }
  /** The asciicast v2; with `follow` it continues until the exit. */
  | { readonly kind: "recording"; readonly follow: boolean }
  /** Server-sent events of the recording, after event number `after` (0 = from the beginning). */
  | { readonly kind: "stream"; readonly after: number }
  /** Raw bytes from `from` up to, not including, `to`. */
  | { readonly kind: "output"; readonly from: number; readonly to: number }
  /** JSON array of the journal's events at offsets from `from` on, without those of output. */
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

/**
 * All methods with an id throw `session_not_found`; `write`, `resize` and `kill` throw `session_not_running` after the
 * end.
 */
export type SessionBackend = AsyncDisposable & {
  list(): Promise<readonly SessionRecord[]>;
  /** All sessions as known now; `watch` reports every later change. */
  all(): readonly SessionRecord[];
  /**
   * The session of an id, synchronously if it is known here. Promises for one id settle in order, which keeps input in
   * order.
   */
  find(id: string): SessionRecord | Promise<SessionRecord>;
  get(id: string): Promise<SessionRecord>;
  /** Throws `invalid_cwd`, `command_not_found`, `session_exists`, `launch_failed`. */
  create(request: CreateSession): Promise<SessionRecord>;
  rename(id: string, name: string): Promise<SessionRecord>;
  /** Ends a running session, removes an ended one with its recording (contract 2.3). */
  remove(id: string): Promise<Removal>;
  /** Writes reach the program in the order of the calls, awaited or not. */
  write(id: string, input: Uint8Array): Promise<void>;
  resize(id: string, size: TerminalSize): Promise<void>;
  kill(id: string, signal: SignalName): Promise<void>;
  mark(id: string, label: string): Promise<void>;
  view(id: string, view: View, signal: AbortSignal): Promise<Content>;
  /**
   * Saves a file in the session's current directory, with the rights of its user. An existing file is never replaced;
   * a file that did not arrive whole leaves nothing behind.
   */
  saveFile(id: string, file: NewFile, signal: AbortSignal): Promise<SavedFile>;
  /** A regular file that the session's user may read; a relative path starts at the session's current directory. */
  openFile(id: string, path: string, signal: AbortSignal): Promise<Content>;
  /**
   * Delivers all later events in order; earlier output is read with `view`. At most one subscription of a session:
   * fan-out is the feed's work. `flags`: initial deliveries, by default output and events; always the exit.
   */
  subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription>;
  /** Created, changed, ended and removed sessions, and the other events of specification 6. */
  watch(listener: (event: ServerEvent) => void): Disposable;
};
