// How much output is taken in. A program may write a hundred times faster than a browser draws, and a person wants to see
// the present. So: when the queue is full the subscription is paused, and resumed at the same byte when the queue is
// almost parsed: nothing is lost, and 10 MB of output pass whole. Where that happens again and again without catching
// up, it is a flood: then the rest is skipped and the screen as it is now is drawn. A window that is not shown parses
// slowly (browsers see to that); it stays paused for long and skips nothing until it is shown.

/** So often in a row the queue may be full before output is skipped: about 16 MiB, a second or two of parsing. */
const PAUSES_BEFORE_SKIP = 4;
/** Each skip is a request and a screen that the server makes. */
export const SKIP_INTERVAL_MS = 3_000;

export type OutputFlowOptions = {
  readonly pause: () => void;
  readonly resume: () => void;
  /** Draw the screen of now instead of what is missing, and go on from there. */
  readonly skip: () => void;
  readonly isShown: () => boolean;
  /** Milliseconds. */
  readonly now: () => number;
};

export class OutputFlow {
  readonly #options: OutputFlowOptions;
  #pauses = 0;
  #skippedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OutputFlowOptions) {
    this.#options = options;
  }

  /** Everything that came is parsed. */
  caughtUp(): void {
    this.#pauses = 0;
  }

  full(): void {
    this.#pauses += 1;
    this.#options.pause();
  }

  room(): void {
    const { now, isShown, resume, skip } = this.#options;
    const isSkipDue = this.#pauses >= PAUSES_BEFORE_SKIP && now() - this.#skippedAt >= SKIP_INTERVAL_MS;
    if (!isSkipDue || !isShown()) {
      resume();
      return;
    }
    this.#skippedAt = now();
    this.#pauses = 0;
    skip();
  }
}
