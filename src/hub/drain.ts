// Disconnects the clients of a server that stops: clients that know GOAWAY leave by themselves, the others are closed.

import type { GoAway } from "../protocol/frame/payload.ts";
import { GOAWAY_PATIENCE_MS } from "../protocol/limits.ts";
import type { Viewer } from "./viewer/viewer.ts";

/** Close code of RFC 6455. */
const GOING_AWAY = 1001;

/**
 * Closes are spread over `jitterMs` after `afterMs`, so that not all clients reconnect at the same instant. Resolves when all
 * clients have gone, or the remaining ones were told to close.
 */
export async function drain(options: {
  readonly viewers: () => readonly Viewer[];
  /** Calls the listener when a client has gone. */
  readonly onLeft: (listener: () => void) => Disposable;
  readonly isEmpty: () => boolean;
  readonly notice: GoAway;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
}): Promise<void> {
  const { viewers, onLeft, isEmpty, notice, random } = options;
  const { afterMs, jitterMs, reason } = notice;
  const { promise, resolve } = Promise.withResolvers<void>();
  using stack = new DisposableStack();
  const later = (ms: number, work: () => void): void => {
    const timer = setTimeout(work, ms);
    stack.defer(() => clearTimeout(timer));
  };
  stack.use(onLeft(() => void (isEmpty() && resolve())));
  const closeIt = (viewer: Viewer): void => viewer.close(GOING_AWAY, reason);
  for (const viewer of viewers()) {
    if (!viewer.goAway(notice)) later(afterMs + random() * jitterMs, () => closeIt(viewer));
  }
  later(afterMs + jitterMs + GOAWAY_PATIENCE_MS, () => {
    viewers().forEach(closeIt);
    resolve();
  });
  if (isEmpty()) resolve();
  await promise;
}
