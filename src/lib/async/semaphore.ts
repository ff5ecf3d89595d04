import type { ServiceError } from "../../protocol/errors.ts";

export type SemaphoreOptions = {
  /** How much may be done at a time. */
  readonly permits: number;
  /** How much may wait for its turn, and how long in milliseconds; what may not is rejected with `full`. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  readonly full: () => ServiceError;
};

/** So much work at a time and no more. The rest waits, first come first served, bounded in number and time. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Settles as `work` does, once it had its turn. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#options.permits) await this.#turn();
    else this.#taken++;
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  /** Whoever comes to an end hands its slot on, so that nobody slips in between. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  async #turn(): Promise<void> {
    const { maxWaiting, maxWaitMs, full } = this.#options;
    if (this.#waiting.size >= maxWaiting) throw full();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const timer = setTimeout(() => {
      // Handed a slot in this very moment: then it has one.
      if (this.#waiting.delete(resolve)) reject(full());
    }, maxWaitMs);
    await promise.finally(() => clearTimeout(timer));
  }
}
