import { isTimeout, withDeadline } from "../lib/async/deadline.ts";
import type { AttachmentHandlers } from "../protocol/client/attachment.ts";
import { disconnected, isFinal } from "../protocol/client/link.ts";
import type { SessionSocket } from "../protocol/client/session-socket.ts";
import { ServiceError } from "../protocol/errors.ts";
import { resizeEvent } from "../protocol/frame/event.ts";
import { type Subscribed, SubscribeFlag } from "../protocol/frame/payload.ts";
import type { SessionRecord, TerminalSize } from "../protocol/schemas/session.ts";
import type { Sink, Subscription } from "../sessions/backend.ts";

/** Timeout of the answer to a subscription. */
const SUBSCRIBE_TIMEOUT_MS = 5_000;
const NOTHING = new Uint8Array();
/** Deliveries that `view` provides up to the offset where the subscription begins. */
const JOURNALLED = SubscribeFlag.Stdout | SubscribeFlag.Events;

/**
 * Follows a session of another process from its current end, across reconnects. Throws the error of a refused subscription,
 * and `host_unreachable` without an answer. Output and screens go to `sink`, events to `events`.
 */
export async function followSession(
  socket: Pick<SessionSocket, "attach" | "onState">,
  record: SessionRecord,
  flags: number,
  { sink, events }: { readonly sink: Sink; readonly events: Sink },
): Promise<Subscription> {
  let answer = Promise.withResolvers<Subscribed>();
  let size: TerminalSize | undefined;
  let wanted = flags;
  /** The next answer begins deliveries that were not requested before, so it begins with a resync. */
  let isRestarting = false;
  const handlers: AttachmentHandlers = {
    onSubscribed: (answered) => {
      // Only the answer reports a resize that happened while disconnected.
      const isNew = size !== undefined && (size.cols !== answered.cols || size.rows !== answered.rows);
      if (isRestarting) sink({ kind: "resync", offset: next(), size: answered, bytes: NOTHING });
      else if (isNew) sink({ kind: "event", offset: next(), event: resizeEvent(answered) });
      isRestarting = false;
      size = answered;
      answer.resolve(answered);
    },
    onOutput: sink,
    onResync: (resync) => {
      size = resync.size;
      sink({ kind: "resync", ...resync });
    },
    onSnapshot: (payload) => sink({ kind: "snapshot", payload }),
    onEvent: (event) => {
      if (event.kind === "resize") size = event;
      events({ kind: "event", offset: next(), event });
    },
    onError: (error) => {
      // The socket subscribes again after temporary errors.
      if (size !== undefined && isFinal(error)) sink({ kind: "lost", error });
      answer.reject(error);
    },
  };
  const attachment = socket.attach(record.id, { from: "live", flags }, handlers);
  const next = (): number => offsetOf(attachment.next);
  const request = async (flagsNow: number): Promise<void> => {
    isRestarting ||= (flagsNow & ~wanted & JOURNALLED) !== 0;
    wanted = flagsNow;
    answer = Promise.withResolvers();
    attachment.request(wanted);
    await answered(record.id, answer.promise);
  };
  const leave = (): void => attachment[Symbol.dispose]();
  // The frames behind this subscription wait for its answer.
  using _lost = socket.onState((state) => {
    const isLost = state.kind === "closed" || (state.kind === "waiting" && state.isPlanned !== true);
    if (isLost) answer.reject(state.error ?? disconnected());
  });
  try {
    const { offset, cols, rows, status } = await answered(record.id, answer.promise);
    // The record is older than the answer.
    return { offset, record: { ...record, cols, rows, status }, request, [Symbol.dispose]: leave };
  } catch (error) {
    leave();
    throw error;
  }
}

async function answered(sessionId: string, answer: Promise<Subscribed>): Promise<Subscribed> {
  try {
    return await withDeadline(answer, SUBSCRIBE_TIMEOUT_MS, "the subscription to a session");
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new ServiceError("host_unreachable", `no answer to the subscription to session ${sessionId}`, {
      cause: error,
    });
  }
}

function offsetOf(next: number | "live"): number {
  if (next === "live")
    throw new ServiceError("internal_error", "an event came before its subscription was answered");
  return next;
}
