type Entry<Value> = { readonly value: Value; readonly expiresAtMs: number };
/** `now`: monotonic milliseconds. */
type Options = { readonly lifetimeMs: number; readonly maxEntries: number; readonly now: () => number };

/** All entries have the same lifetime: the oldest expires first. Over `maxEntries` the oldest is dropped. */
export class ExpiringMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Restarts the entry's lifetime. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#forgetExpired();
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#options.maxEntries) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, expiresAtMs: this.#options.now() + this.#options.lifetimeMs });
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#options.now() < entry.expiresAtMs ? entry.value : undefined;
  }

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

  #forgetExpired(): void {
    const now = this.#options.now();
    for (const [key, entry] of this.#entries) {
      if (now < entry.expiresAtMs) return;
      this.#entries.delete(key);
    }
  }
}

/** Keeps an answer unless it fails. */
export function keepAnswer<Key, Answer>(
  known: ExpiringMap<Key, Promise<Answer>>,
  key: Key,
  answer: Promise<Answer>,
): Promise<Answer> {
  known.set(key, answer);
  answer.catch(() => {
    // A later answer stays.
    if (known.get(key) === answer) known.delete(key);
  });
  return answer;
}
