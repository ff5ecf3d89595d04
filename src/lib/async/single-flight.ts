/** Concurrent calls share one answer. Results and failures are not cached. */
export function singleFlight<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined;
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

/** Concurrent calls with the same key share one answer. Results and failures are not cached. */
export class KeyedSingleFlight<Answer> {
  readonly #asking = new Map<string, Promise<Answer>>();

  running(key: string): Promise<Answer> | undefined {
    return this.#asking.get(key);
  }

  /** Answers arrive in the order of the calls. `question` must not throw synchronously. */
  ask(key: string, question: () => Promise<Answer>): Promise<Answer> {
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    const asking = question();
    this.#asking.set(key, asking);
    // Registered first, so that later callers cannot get this answer after those who waited.
    const forget = (): void => void this.#asking.delete(key);
    asking.then(forget, forget);
    return asking;
  }
}
