import { histogram } from "../lib/data/histogram.ts";
import type { JournalMeter, JournalOptions } from "./journal/journal.ts";

/** What the terminals of this process have done since it started: plain numbers, for the way of each byte is short. */
export class SessionMeter implements JournalMeter {
  readonly now: () => number;
  started = 0;
  ended = 0;
  /** Bytes that programs wrote, and that were typed into them. */
  outputBytes = 0;
  inputBytes = 0;
  /** Seconds from a batch of output to its record on disk. */
  readonly journalWrites = histogram(
    "journal_write_duration_seconds",
    "Time until a batch of output was on disk.",
  );
  /** Times that a journal could not be written, and that a program was held back because the disk was behind. */
  journalFailures = 0;
  /** Bytes of output that came while the disk took nothing, and were more than memory holds. */
  lostBytes = 0;
  journalPauses = 0;

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number) {
    this.now = now;
  }

  wrote(tookMs: number): void {
    this.journalWrites.observe(tookMs / 1000);
  }

  ofJournal({ onPressure, onFailure, onGap, ...options }: JournalOptions): JournalOptions {
    return {
      ...{ ...options, meter: this },
      onPressure: (isHigh) => {
        if (isHigh) this.journalPauses += 1;
        onPressure(isHigh);
      },
      onFailure: (error) => {
        this.journalFailures += 1;
        onFailure(error);
      },
      onGap: (gap) => {
        this.lostBytes += gap.to - gap.from;
        onGap(gap);
      },
    };
  }
}
