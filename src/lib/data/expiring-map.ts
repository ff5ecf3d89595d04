type Entry<Value> = { readonly value: Value; readonly expiresAtMs: number };

/**
 * A map whose entries all have the same lifetime, so that insertion order is expiry order and every call is cheap.
 * Over `maxEntries` the oldest entry is dropped.
 */
export class ExpiringMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #lifetimeMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;

  /** `now`: monotonic milliseconds. */
  constructor(options: {
    readonly lifetimeMs: number;
    readonly maxEntries: number;
    readonly now: () => number;
  }) {
    this.#lifetimeMs = options.lifetimeMs;
    this.#maxEntries = options.maxEntries;
    this.#now = options.now;
  }

  /** Restarts the entry's lifetime. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#forgetExpired();
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#maxEntries) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, expiresAtMs: this.#now() + this.#lifetimeMs });
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#now() < entry.expiresAtMs ? entry.value : undefined;
  }

  /** Removes the entry. */
  take(key: Key): Value | undefined {
    const value = this.get(key);
    this.#entries.delete(key);
    return value;
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Live values, oldest first. */
  values(): readonly Value[] {
    this.#forgetExpired();
    return [...this.#entries.values()].map(({ value }) => value);
  }

  /** Live entries. */
  get size(): number {
    this.#forgetExpired();
    return this.#entries.size;
  }

  #forgetExpired(): void {
    const now = this.#now();
    for (const [key, entry] of this.#entries) {
      if (now < entry.expiresAtMs) return;
      this.#entries.delete(key);
    }
  }
}
