/** What was found out, and about which repository: the folder that all its working trees share. */
export type Found<Value> = { readonly commonDir: string; readonly value: Value };

type Entry<Value> = {
  readonly found: Promise<Found<Value>>;
  commonDir: string | undefined;
  /** In milliseconds; of an entry that is not found yet there is none. */
  expiresAtMs: number;
};

/**
 * What was found out about repositories, for a fixed time. What is asked for by several at once is found out once.
 * At most `maxEntries`: over that the entry made longest ago is forgotten. What failed is not kept.
 */
export class RepositoryCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #lifetimeMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;

  /** `now` in milliseconds; any zero point, never going back. */
  constructor(options: {
    readonly lifetimeMs: number;
    readonly maxEntries: number;
    readonly now: () => number;
  }) {
    this.#lifetimeMs = options.lifetimeMs;
    this.#maxEntries = options.maxEntries;
    this.#now = options.now;
  }

  /** `key`: what was asked and by whom; different keys may come to the same repository. */
  async get(key: string, find: () => Promise<Found<Value>>): Promise<Value> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#now() < known.expiresAtMs) return (await known.found).value;
    const entry: Entry<Value> = { found: find(), commonDir: undefined, expiresAtMs: Infinity };
    this.#keep(key, entry);
    try {
      const { commonDir, value } = await entry.found;
      entry.commonDir = commonDir;
      entry.expiresAtMs = this.#now() + this.#lifetimeMs;
      return value;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  /** Something has changed in that repository: whoever asks from now on is told what is true then. */
  forget(commonDir: string): void {
    for (const [key, entry] of this.#entries) {
      // Of what is being found out it is not known yet which repository it is about.
      if (entry.commonDir === undefined || entry.commonDir === commonDir) this.#entries.delete(key);
    }
  }

  #keep(key: string, entry: Entry<Value>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) break;
      this.#entries.delete(oldest);
    }
  }
}
