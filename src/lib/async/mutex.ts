/** Work that is done one after the other, in the order in which it was given. What fails holds nothing up. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as `work` does, when its turn is over. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
