import { histogram } from "../lib/data/histogram.ts";

/** Counters of the terminals of this process. Plain numbers, since they are on the hot path. */
export class SessionMeter {
  readonly now: () => number;
  started = 0;
  ended = 0;
  outputBytes = 0;
  inputBytes = 0;
  readonly journalWrites = histogram(
    "journal_write_duration_seconds",
    "Time until a batch of output was on disk.",
  );
  /** Failed journal writes, and pauses of programs because the disk was behind. */
  journalFailures = 0;
  /** Bytes of output that were lost because the disk failed and the buffer was full. */
  lostBytes = 0;
  journalPauses = 0;

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number) {
    this.now = now;
  }
}
