/** Runs work one after another, in the order of the calls, whether or not it fails. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as `work` does, when its turn is over. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** Runs `work` in a turn of the mutex. All calls before that turn begins share it. */
export function coalesced(work: () => Promise<void>, mutex = new Mutex()): () => Promise<void> {
  let next: Promise<void> | undefined;
  return () => {
    next ??= mutex.take(() => {
      next = undefined;
      return work();
    });
    return next;
  };
}

/** One mutex per key, kept while in use. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as `work` does, when its turn is over. */
  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const last = turn
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(key) === last) this.#last.delete(key);
      });
    this.#last.set(key, last);
    return turn;
  }
}
