import type { Follow } from "./journal-reader.ts";
import type { Session } from "./session.ts";

/** Waits for the session's journal to grow; false when it never will again. */
export function growthOf(session: Session): Follow {
  let isOver = false;
  return async () => {
    // One more look after the end: the last records may have been written since the previous one.
    if (isOver) return false;
    const { journal } = session;
    if (journal === undefined) isOver = true;
    else await Promise.race([journal.progressed(), session.exited]);
    return true;
  };
}
