import { closeSync, openSync, readFileSync } from "node:fs";

/** The limit may be changed from outside, as by prlimit(1): it is read again when it is older. */
const LIMIT_AGE_MS = 1_000;

/** The file descriptors of this process. */
export class Descriptors {
  readonly #now: () => number;
  #limit = Number.POSITIVE_INFINITY;
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * How far the lowest free descriptor is from the limit: the system gives the lowest one, so it is no further as long as
   * what is kept free above is. 0 when there is none; infinite where the system does not tell the limit.
   */
  get left(): number {
    try {
      if (this.#now() - this.#readAtMs > LIMIT_AGE_MS) this.#readLimit();
      const lowest = openSync("/dev/null", "r");
      closeSync(lowest);
      return Math.max(0, this.#limit - lowest);
    } catch {
      return 0;
    }
  }

  #readLimit(): void {
    if (process.platform !== "linux") return;
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    this.#limit = soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
    this.#readAtMs = this.#now();
  }
}
