// The requests of a client about one session, and the handlers of the answers.
import type { ServiceError } from "../errors.ts";
import type { SessionEvent } from "../frame/event.ts";
import type { OutputDelivery } from "../frame/frame.ts";
import type { Subscribed } from "../frame/payload.ts";
import type { Resync } from "../frame/resync.ts";
import type { SessionViewer } from "../schemas/viewer.ts";

/** Handlers of one session's output and events. They must not throw. */
export type AttachmentHandlers = {
  /** Called after every SUBSCRIBE, also after a reconnect. */
  readonly onSubscribed?: (subscribed: Subscribed) => void;
  readonly onOutput: (output: OutputDelivery) => void;
  /** Output before `offset` is not held any more: reset the terminal to that size and write the bytes to it. */
  readonly onResync: (resync: Resync) => void;
  readonly onEvent?: (event: SessionEvent) => void;
  /** Who watches, if the flags request that. */
  readonly onViewers?: (viewers: readonly SessionViewer[]) => void;
  /** A SNAPSHOT_VT payload, if the flags request snapshots. */
  readonly onSnapshot?: (snapshot: Uint8Array) => void;
  /** A final error (`isFinal`) ends the attachment; otherwise the subscription is retried. */
  readonly onError?: (error: ServiceError) => void;
};

export type AttachmentRequest = {
  readonly from: number | "live";
  readonly flags?: number;
  /** Between two snapshots, if the flags request them. */
  readonly minIntervalMs?: number;
};
