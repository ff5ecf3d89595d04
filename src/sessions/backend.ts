// The interface that everything turns on: where sessions come from. Three implementations: the terminals of this
// process, another process reached over HTTP and /ws, and a fleet of those. Routes and hub know only this file.

import type { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent, SessionEvent } from "../protocol/frame/event.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";

/**
 * One thing that happened in a session, in the order in which it happened. `offset` counts the bytes of output since
 * the session began: the first byte of `bytes` for output, the number of bytes before it for all others.
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
  /** Delivery begins here: at the current end of the output. */
  readonly offset: number;
  readonly record: SessionRecord;
  /** `view` cannot read earlier output; offsets are valid for this subscription only. */
  readonly isUnrecorded?: boolean;
  /**
   * Delivers what these flags of SubscribeFlag mean from now on and nothing else; output or events that were not delivered
   * before begin with a resync. Resolves when it is so. Absent: output and events are delivered whatever is asked for,
   * and snapshots never.
   */
  readonly request?: (flags: number) => Promise<void>;
};

/** A view of a session's output (contract 2.5). */
export type View =
  | { readonly kind: "text"; readonly scrollback: boolean; readonly styles: boolean }
  /** A SNAPSHOT_VT of the screen. */
  | { readonly kind: "buffer" }
  /**
   * A RESYNC payload: offset, size and the bytes that draw the screen with its scrollback. `isScreenOnly`: without that,
   * and without what is behind an alternate screen.
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

/**
 * Every method but `list` and `watch` throws ServiceError `session_not_found` for an unknown id; `write`, `resize` and
 * `kill` throw `session_not_running` for an ended one.
 */
export type SessionBackend = AsyncDisposable & {
  list(): Promise<readonly SessionRecord[]>;
  /** All sessions as known now; `watch` reports every later change. */
  all(): readonly SessionRecord[];
  /**
   * The session that an id means: at once where it is known here, else as a promise. Promises for the same id settle in
   * the order of the calls, so that input keeps its order.
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
   * Everything that happens from now on, in order; what came before `offset` is read with `view`. "History, then live"
   * is arithmetic on offsets. One subscription for each session at a time: fan-out is the feed's work. `flags`: what is
   * delivered at first, output and events unless given; the exit always is.
   */
  subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription>;
  /** Created, changed, ended and removed sessions, and the other events of specification 6. */
  watch(listener: (event: ServerEvent) => void): Disposable;
};
