/** Maximum of closed terminals; the oldest are forgotten. */
const MAX_CLOSED = 20;

/** The last screens of a test's terminals, open or closed, for the report of its failure. */
export class TerminalLog {
  readonly #open = new Set<() => string>();
  #closed: string[] = [];

  /** Disposal takes the last description. */
  add(describe: () => string): Disposable {
    this.#open.add(describe);
    return {
      [Symbol.dispose]: () => {
        if (this.#open.delete(describe)) this.#closed = [...this.#closed, describe()].slice(-MAX_CLOSED);
      },
    };
  }

  get texts(): readonly string[] {
    return [...this.#closed, ...[...this.#open].map((describe) => describe())];
  }

  /** At the end of a test: open terminals may be used by the next one. */
  forgetClosed(): void {
    this.#closed = [];
  }
}
