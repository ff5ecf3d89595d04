import type { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";

/** The time between two pieces of output. `beganMs` is of performance.now(). */
export type Stall = { readonly beganMs: number; readonly ms: number };

/** A checker's clock: the longest wait of its viewer for a byte, and its time. */
export class StallWatch {
  readonly #checker: OracleChecker;
  #last: number | undefined;
  #worst: Stall = { beganMs: 0, ms: 0 };

  constructor(checker: OracleChecker) {
    this.#checker = checker;
  }

  get worst(): Stall {
    return this.#worst;
  }

  take(bytes: Uint8Array, offset: number): void {
    const now = performance.now();
    const beganMs = this.#last ?? now;
    if (now - beganMs > this.#worst.ms) this.#worst = { beganMs, ms: now - beganMs };
    this.#last = now;
    this.#checker.take(bytes, offset);
  }

  skip(offset: number): void {
    this.#checker.skip(offset);
  }
}
