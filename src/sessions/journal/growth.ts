import type { Session } from "../session.ts";
import type { Follow } from "./reader.ts";

/** Waits for the session's journal to grow; false when it never will again, or when nobody waits any more. */
export function growthOf(session: Session, signal: AbortSignal): Follow {
  // Asked for before each look at the file, so that what is written during the look is not waited for in vain.
  let growth = nextGrowth(session);
  return async () => {
    if (growth === undefined || signal.aborted) return false;
    await untilAborted(growth, signal);
    // One more look after the end: the last records may have been written since the previous one.
    growth = nextGrowth(session);
    return !signal.aborted;
  };
}

function nextGrowth(session: Session): Promise<void> | undefined {
  return session.isRunning ? session.journal?.progressed() : undefined;
}

/** Listens no longer than it waits: a race with a promise of the signal would keep every wait until the end. */
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const stop = (): void => stopped.resolve();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([promise, stopped.promise]);
  signal.removeEventListener("abort", stop);
}
