import { Backoff } from "../../lib/async/backoff.ts";
import { RECONNECT_QUICK_MS, RETRY_FIRST_MS, RETRY_MAX_MS } from "../limits.ts";

export type BackoffTimes = {
  /** Before the first retry after a good link, a quick one: most cuts are short. */
  readonly quickMs: number;
  /** Before the second; twice as much each time after that, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
};

/** How long a connection waits before it tries again. */
export class Pauses {
  readonly #backoff: Backoff;
  readonly #quickMs: number;
  readonly #random: () => number;
  /** The next try is the first after a good link, or the first of all. */
  #isQuick = true;

  constructor(options: Partial<BackoffTimes> & { readonly random: () => number }) {
    const { quickMs = RECONNECT_QUICK_MS, firstMs = RETRY_FIRST_MS, maxMs = RETRY_MAX_MS, random } = options;
    this.#quickMs = quickMs;
    this.#random = random;
    this.#backoff = new Backoff({ firstMs, maxMs, random });
  }

  /** In ms. `longestMs`: where the server is expected back, which may be at any moment; never longer than that. */
  next(longestMs?: number): number {
    const ms = this.#isQuick ? this.#quickMs : longestMs;
    if (ms === undefined) return this.#backoff.next();
    this.#isQuick = false;
    return ms * (1 - this.#random() / 2);
  }

  /** There was a good link. */
  startOver(): void {
    this.#isQuick = true;
    this.#backoff.reset();
  }
}
