import type { ServiceError } from "../../protocol/errors.ts";

type SemaphoreOptions = {
  /** Concurrent work. */
  readonly permits: number;
  /** Waiting work and its time; over that `take` rejects with `full`. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  readonly full: () => ServiceError;
};

/** Limits concurrent work; the rest waits, first come first served. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Settles as `work` does. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#options.permits) await this.#turn();
    else this.#taken++;
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  /** Passes the permit on directly, so that no new caller overtakes. */
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
      // The permit may just have been passed on.
      if (this.#waiting.delete(resolve)) reject(full());
    }, maxWaitMs);
    await promise.finally(() => clearTimeout(timer));
  }
}
