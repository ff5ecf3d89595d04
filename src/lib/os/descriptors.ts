import { closeSync, openSync, readFileSync } from "node:fs";

/** The limit can change, as by prlimit(1): it is read again after this time. */
const LIMIT_AGE_MS = 1_000;

export class Descriptors {
  readonly #now: () => number;
  #limit = Number.POSITIVE_INFINITY;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The distance of the lowest free descriptor, which the system assigns, from the limit; infinite without a limit. */
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
