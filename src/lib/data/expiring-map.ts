type Entry<Value> = { readonly value: Value; readonly expiresAtMs: number };

/**
 * A map whose entries live for one fixed time. At most `maxEntries`: over that the entry set longest ago is
 * forgotten. One lifetime for all keeps the order of insertion the order of expiry, so every call is cheap.
 */
export class ExpiringMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
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

  /** Sets an entry, which lives anew from now on. */
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

  /** The value, for the first who asks only. */
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

  /** Of the entries still alive, the one set longest ago first. */
  values(): readonly Value[] {
    this.#forgetExpired();
    return [...this.#entries.values()].map(({ value }) => value);
  }

  /** Entries still alive. */
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
