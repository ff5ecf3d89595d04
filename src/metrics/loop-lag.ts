import { Histogram } from "../lib/data/histogram.ts";

/** Rarely enough to cost an idle process nothing that could be measured. */
const SAMPLE_MS = 500;

/**
 * How late this process gets to what is due: what everybody who waits for it waits in addition. Looked at twice a second
 * by a timer of its own; the library's histogram of the same has its own interval in every value.
 */
export class LoopLag implements Disposable {
  readonly histogram = new Histogram();
  readonly #timer: NodeJS.Timeout;

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number) {
    let due = now() + SAMPLE_MS;
    this.#timer = setInterval(() => {
      const at = now();
      this.histogram.observe(Math.max(0, at - due) / 1000);
      due = at + SAMPLE_MS;
    }, SAMPLE_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
