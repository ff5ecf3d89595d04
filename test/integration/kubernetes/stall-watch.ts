import type { OracleChecker } from "../../../src/testing/oracle-checker.ts";

/** A checker's clock: how long its viewer waited for a byte at most. */
export class StallWatch {
  readonly #checker: OracleChecker;
  #last: number | undefined;
  #worstMs = 0;

  constructor(checker: OracleChecker) {
    this.#checker = checker;
  }

  /** Between two pieces of output, milliseconds. */
  get worstMs(): number {
    return this.#worstMs;
  }

  take(bytes: Uint8Array, offset: number): void {
    const now = performance.now();
    this.#worstMs = Math.max(this.#worstMs, now - (this.#last ?? now));
    this.#last = now;
    this.#checker.take(bytes, offset);
  }

  skip(offset: number): void {
    this.#checker.skip(offset);
  }
}
