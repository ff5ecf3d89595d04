// How a server that stops parts with its clients: those that know GOAWAY leave by themselves, the others are closed.

import type { GoAway } from "../protocol/frame/payload.ts";
import { GOAWAY_PATIENCE_MS } from "../protocol/limits.ts";
import type { Viewer } from "./viewer/viewer.ts";

/** Close code of RFC 6455. */
const GOING_AWAY = 1001;

/**
 * Spread over `jitterMs` after `afterMs`, so that not all of them come back at the same instant. Resolves when nobody is
 * there any more, or when those who did not go were told to close.
 */
export async function drain(options: {
  readonly viewers: () => readonly Viewer[];
  /** Calls the listener when a client has gone; `isEmpty`: it was the last one. */
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
