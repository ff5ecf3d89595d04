import type { Session } from "../session.ts";
import type { Follow } from "./reader.ts";

/** Waits for the session's journal to grow; false after its end and after an abort. */
export function growthOf(session: Session, signal: AbortSignal): Follow {
  // Requested before each read, so that no write during the read is missed.
  let growth = nextGrowth(session);
  return async () => {
    if (growth === undefined || signal.aborted) return false;
    await untilAborted(growth, signal);
    // One more read after the end, for the last records.
    growth = nextGrowth(session);
    return !signal.aborted;
  };
}

function nextGrowth(session: Session): Promise<void> | undefined {
  return session.isRunning ? session.journal?.progressed() : undefined;
}

/** Removes its listener: a race with a promise of the signal would leak every wait. */
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const stop = (): void => stopped.resolve();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([promise, stopped.promise]);
  signal.removeEventListener("abort", stop);
}
