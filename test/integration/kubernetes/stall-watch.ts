import type { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";

/** The time between two pieces of output. `beganMs` is of performance.now(). */
export type Stall = { readonly beganMs: number; readonly ms: number };

const NONE: Stall = { beganMs: 0, ms: 0 };

/** A checker's clock: the longest waits of its viewer for a byte. */
export class StallWatch {
  readonly #checker: OracleChecker;
  readonly #reconnects: () => number;
  #last: { readonly atMs: number; readonly reconnects: number } | undefined;
  #worst = NONE;
  #worstConnected = NONE;

  /** `reconnects`: of the viewer so far. */
  constructor(checker: OracleChecker, reconnects: () => number = () => 0) {
    this.#checker = checker;
    this.#reconnects = reconnects;
  }

  /** The longest wait. */
  get worst(): Stall {
    return this.#worst;
  }

  /** The longest wait without a reconnect in it. */
  get worstConnected(): Stall {
    return this.#worstConnected;
  }

  take(bytes: Uint8Array, offset: number): void {
    const atMs = performance.now();
    const reconnects = this.#reconnects();
    const last = this.#last ?? { atMs, reconnects };
    const stall = { beganMs: last.atMs, ms: atMs - last.atMs };
    this.#worst = longest([this.#worst, stall]);
    if (reconnects === last.reconnects) this.#worstConnected = longest([this.#worstConnected, stall]);
    this.#last = { atMs, reconnects };
    this.#checker.take(bytes, offset);
  }

  skip(offset: number): void {
    this.#checker.skip(offset);
  }
}

export function longest(stalls: readonly Stall[]): Stall {
  return stalls.reduce((worst, stall) => (stall.ms > worst.ms ? stall : worst), NONE);
}
