/**
 * Pauses between retries: `firstMs` doubling to `maxMs` (contract 6.2), each shortened at random by up to a half, so
 * that many clients do not return at once.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #baseMs: number;

  constructor(options: { readonly firstMs: number; readonly maxMs: number; readonly random: () => number }) {
    this.#firstMs = options.firstMs;
    this.#maxMs = options.maxMs;
    this.#random = options.random;
    this.#baseMs = options.firstMs;
  }

  /** In milliseconds. */
  next(): number {
    const base = this.#baseMs;
    this.#baseMs = Math.min(base * 2, this.#maxMs);
    return base * (1 - this.#random() / 2);
  }

  /** Call after a success. */
  reset(): void {
    this.#baseMs = this.#firstMs;
  }
}
