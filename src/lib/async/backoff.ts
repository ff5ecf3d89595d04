type BackoffOptions = { readonly firstMs: number; readonly maxMs: number; readonly random: () => number };

/** Pauses that double (contract 6.2), each shortened at random by up to a half: many clients do not return at once. */
export class Backoff {
  readonly #options: BackoffOptions;
  #baseMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#baseMs = options.firstMs;
  }

  next(): number {
    const base = this.#baseMs;
    this.#baseMs = Math.min(base * 2, this.#options.maxMs);
    return base * (1 - this.#options.random() / 2);
  }

  reset(): void {
    this.#baseMs = this.#options.firstMs;
  }
}
