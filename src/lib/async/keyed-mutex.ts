import { Mutex } from "./mutex.ts";

type Line = { readonly turns: Mutex; waiting: number };

/**
 * Work about the same thing is done one after the other, about different things side by side. Holds what is being
 * worked on, and nothing else.
 */
export class KeyedMutex {
  readonly #lines = new Map<string, Line>();

  /** Settles as `work` does, when its turn is over. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? { turns: new Mutex(), waiting: 0 };
    this.#lines.set(key, line);
    line.waiting++;
    try {
      return await line.turns.take(work);
    } finally {
      line.waiting--;
      if (line.waiting === 0) this.#lines.delete(key);
    }
  }
}
