import { isTimeout, withDeadline } from "../lib/deadline.ts";
import { ServiceError } from "../protocol/errors.ts";
import { resizeEvent } from "../protocol/event.ts";
import { isFinal } from "../protocol/link-error.ts";
import type { Subscribed } from "../protocol/payload.ts";
import type { SessionRecord, TerminalSize } from "../protocol/session.ts";
import type { SessionSocket } from "../protocol/session-socket.ts";
import type { AttachmentHandlers } from "../protocol/subscription-state.ts";
import type { Sink, Subscription } from "../sessions/backend.ts";

/** How long the other process may take to answer a subscription, in ms. */
const SUBSCRIBE_TIMEOUT_MS = 5_000;

/**
 * A session of another process, from its end on and over every cut of the connection. Throws what the subscription is
 * refused with, and `host_unreachable` when it is not answered.
 */
export async function followSession(
  socket: Pick<SessionSocket, "attach">,
  record: SessionRecord,
  sink: Sink,
): Promise<Subscription> {
  const { promise, resolve, reject } = Promise.withResolvers<Subscribed>();
  let size: TerminalSize | undefined;
  const handlers: AttachmentHandlers = {
    onSubscribed: (answer) => {
      // A resize that happened during a cut is told by the answer alone.
      const isNew = size !== undefined && (size.cols !== answer.cols || size.rows !== answer.rows);
      if (isNew) sink({ kind: "event", offset: next(), event: resizeEvent(answer) });
      size = answer;
      resolve(answer);
    },
    onOutput: (offset, bytes, frame) => sink({ kind: "output", offset, bytes, frame }),
    onResync: (resync) => {
      size = resync.size;
      sink({ kind: "resync", ...resync });
    },
    onEvent: (event) => {
      if (event.kind === "resize") size = event;
      sink({ kind: "event", offset: next(), event });
    },
    onError: (error) => {
      // As long as it may pass, the socket asks again.
      if (size !== undefined && isFinal(error)) sink({ kind: "lost", error });
      else reject(error);
    },
  };
  const attachment = socket.attach(record.id, { from: "live" }, handlers);
  const next = (): number => offsetOf(attachment.next);
  try {
    const { offset, cols, rows, status } = await withDeadline(
      promise,
      SUBSCRIBE_TIMEOUT_MS,
      "the subscription to a session",
    );
    // The record was read before.
    return {
      offset,
      record: { ...record, cols, rows, status },
      [Symbol.dispose]: () => attachment[Symbol.dispose](),
    };
  } catch (error) {
    attachment[Symbol.dispose]();
    if (!isTimeout(error)) throw error;
    throw new ServiceError("host_unreachable", `session ${record.id} is not answered for`, { cause: error });
  }
}

function offsetOf(next: number | "live"): number {
  if (next === "live")
    throw new ServiceError("internal_error", "an event came before its subscription was answered");
  return next;
}
