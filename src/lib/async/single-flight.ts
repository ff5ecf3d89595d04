/** Whoever asks while an answer is on its way gets that one. An answer, or what stood in its way, is not remembered. */
export function singleFlight<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined;
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

/** Questions that take a while, asked once for all who have the same. No answer is remembered. */
export class KeyedSingleFlight<Answer> {
  readonly #asking = new Map<string, Promise<Answer>>();

  /** The answer that is on its way, if one is. */
  running(key: string): Promise<Answer> | undefined {
    return this.#asking.get(key);
  }

  /** Whoever asks meanwhile gets the same answer, in the order of the calls. `question` must not throw at once. */
  ask(key: string, question: () => Promise<Answer>): Promise<Answer> {
    return this.#asking.get(key) ?? this.#begin(key, question());
  }

  #begin(key: string, asking: Promise<Answer>): Promise<Answer> {
    this.#asking.set(key, asking);
    // The first to listen: those who wait go on right after it, and nobody who comes later is before them.
    const forget = (): void => void this.#asking.delete(key);
    asking.then(forget, forget);
    return asking;
  }
}
