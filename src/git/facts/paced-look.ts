import type { Semaphore } from "../../lib/async/semaphore.ts";
import { FACT_PAUSE_FACTOR, FACT_RETRY_MAX_MS, FACT_SETTLE_MS, FACT_STALE_MS } from "../git-limits.ts";

/**
 * One look for many hints: FACT_SETTLE_MS after the first of them, one look at a time, once more for what was hinted at
 * during it. Between two looks there is a pause, FACT_PAUSE_FACTOR times as long as the last look took. One that fails,
 * or gets no turn, is taken again by itself after FACT_STALE_MS, then after twice as long, up to FACT_RETRY_MAX_MS.
 */
export class PacedLook implements Disposable {
  readonly #look: () => Promise<void>;
  readonly #slots: Pick<Semaphore, "take">;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Infinity;
  #earliestMs = 0;
  #retryMs = FACT_STALE_MS;
  /** When what failed is taken again by itself. */
  #retryAtMs = Infinity;
  #isLooking = false;
  #isOver = false;

  /** `look` rejects where it may go another time. `now` in milliseconds, monotonic. */
  constructor(options: {
    readonly look: () => Promise<void>;
    readonly slots: Pick<Semaphore, "take">;
    readonly now: () => number;
  }) {
    this.#look = options.look;
    this.#slots = options.slots;
    this.#now = options.now;
  }

  /** Something may have changed. `afterMs`: how long that can wait. */
  hint(afterMs: number = FACT_SETTLE_MS): void {
    const dueMs = this.#now() + afterMs;
    if (this.#isOver || dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    if (!this.#isLooking) this.#wait();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const dueMs = Math.max(this.#dueMs, this.#earliestMs);
    this.#timer = setTimeout(() => void this.#run(), Math.max(0, dueMs - this.#now()));
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    this.#isLooking = true;
    this.#dueMs = Infinity;
    try {
      await this.#slots.take(() => this.#timed());
      [this.#retryMs, this.#retryAtMs] = [FACT_STALE_MS, Infinity];
    } catch {
      this.#failed();
    } finally {
      this.#isLooking = false;
      if (this.#dueMs < Infinity && !this.#isOver) this.#wait();
    }
  }

  /** What was hinted at is still to be seen. Looks that others ask for meanwhile make the pause no longer. */
  #failed(): void {
    const nowMs = this.#now();
    if (nowMs >= this.#retryAtMs) this.#retryMs = Math.min(2 * this.#retryMs, FACT_RETRY_MAX_MS);
    // A timer may come a millisecond early.
    this.#retryAtMs = nowMs + this.#retryMs - 1;
    this.hint(this.#retryMs);
  }

  async #timed(): Promise<void> {
    if (this.#isOver) return;
    // What is hinted at from here on may be newer than what is found.
    this.#dueMs = Infinity;
    const beganMs = this.#now();
    try {
      await this.#look();
    } finally {
      const endedMs = this.#now();
      this.#earliestMs = endedMs + FACT_PAUSE_FACTOR * (endedMs - beganMs);
    }
  }
}
