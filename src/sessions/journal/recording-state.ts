import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { type Gap, lostBefore } from "./gap.ts";
import type { Journal } from "./journal.ts";

type Recorded = {
  readonly isRunning: boolean;
  readonly journal: Pick<Journal, "failure" | "isStopped"> | undefined;
  readonly gaps: readonly Gap[];
};

/** What clients are told of a session's recording: nothing, as long as all of the output is in it. */
export function recordingState(session: Recorded): Pick<SessionRecord, "recording" | "lostBytes"> {
  const { isRunning, journal, gaps } = session;
  const lostBytes = lostBefore(gaps, Number.POSITIVE_INFINITY);
  const lost = lostBytes === 0 ? {} : { lostBytes };
  if (journal?.failure !== undefined) return { recording: "waiting", ...lost };
  return isRunning && journal?.isStopped === true ? { recording: "stopped", ...lost } : lost;
}
