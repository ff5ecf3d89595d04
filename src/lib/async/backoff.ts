/**
 * Pauses between tries: `firstMs` doubling to `maxMs` (contract 6.2), each shortened by up to a half at random, so
 * that many who lost the same peer do not come back at the same instant.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #baseMs: number;

  /** `random` gives 0 up to 1, as Math.random. */
  constructor(options: { readonly firstMs: number; readonly maxMs: number; readonly random: () => number }) {
    this.#firstMs = options.firstMs;
    this.#maxMs = options.maxMs;
    this.#random = options.random;
    this.#baseMs = options.firstMs;
  }

  /** The next pause, in milliseconds. */
  next(): number {
    const base = this.#baseMs;
    this.#baseMs = Math.min(base * 2, this.#maxMs);
    return base * (1 - this.#random() / 2);
  }

  /** After a success: the next pause is the first again. */
  reset(): void {
    this.#baseMs = this.#firstMs;
  }
}
