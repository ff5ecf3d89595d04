import { FACT_LAST_WORD_MS } from "../git-limits.ts";

/** Somebody who wants to know about a folder: a session. */
export class FactReader {
  readonly #onChange: () => void;
  readonly #now: () => number;
  /** `undefined`: its program runs. */
  #endedAtMs: number | undefined;

  constructor(options: {
    readonly isLive: boolean;
    readonly onChange: () => void;
    readonly now: () => number;
  }) {
    this.#onChange = options.onChange;
    this.#now = options.now;
    if (!options.isLive) this.#endedAtMs = -Infinity;
  }

  get isLive(): boolean {
    return this.#endedAtMs === undefined;
  }

  end(): void {
    this.#endedAtMs ??= this.#now();
  }

  /** Of thousands of sessions that have ended, who asks is told; nobody is for each of them. */
  tell(): void {
    const endedAtMs = this.#endedAtMs ?? Infinity;
    if (this.#now() - endedAtMs < FACT_LAST_WORD_MS) this.#onChange();
  }
}
