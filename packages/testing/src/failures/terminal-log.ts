/** Closed terminals; older ones are forgotten. */
const MAX_CLOSED = 20;

/** What the terminals of a test show, or showed when they were closed, for the report of its failure. */
export class TerminalLog {
  readonly #open = new Set<() => string>();
  #closed: string[] = [];

  /** The disposer takes the last description. */
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

  /** At the end of a test: open terminals belong to the next one as well. */
  forgetClosed(): void {
    this.#closed = [];
  }
}
