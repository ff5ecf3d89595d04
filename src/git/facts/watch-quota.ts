import { FACT_WATCH_RETRY_MS } from "../git-limits.ts";

/** What the system says when there is nothing left to watch with: of a user's watches, of its open files. */
const EXHAUSTED = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/** How many folders may be watched in all, and no more than the system lets us have. */
export class WatchQuota {
  readonly #most: number;
  readonly #now: () => number;
  readonly #onExhausted: (error: unknown) => void;
  #taken = 0;
  #refusedUntilMs = 0;

  /** `now` in milliseconds, monotonic. `onExhausted`: at most once for each time that the system runs out. */
  constructor(options: {
    readonly most: number;
    readonly now: () => number;
    readonly onExhausted: (error: unknown) => void;
  }) {
    this.#most = options.most;
    this.#now = options.now;
    this.#onExhausted = options.onExhausted;
  }

  /** How many there are at this moment. */
  get taken(): number {
    return this.#taken;
  }

  /** Begins to watch, where that may be: `undefined` where it may not. Rethrows what says nothing about the quota. */
  take<Watch>(start: () => Watch): Watch | undefined {
    if (this.#taken >= this.#most || this.#now() < this.#refusedUntilMs) return undefined;
    try {
      const watch = start();
      this.#taken++;
      this.#refusedUntilMs = 0;
      return watch;
    } catch (error) {
      if (!isExhausted(error)) throw error;
      // One that was refused again is still the same shortage.
      if (this.#refusedUntilMs === 0) this.#onExhausted(error);
      this.#refusedUntilMs = this.#now() + FACT_WATCH_RETRY_MS;
      return undefined;
    }
  }

  release(): void {
    this.#taken--;
  }
}

function isExhausted(error: unknown): boolean {
  return error instanceof Error && "code" in error && EXHAUSTED.has(String(error.code));
}
