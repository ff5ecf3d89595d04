/** What a browser keeps, and what of it is full. */
export class FakeStorage implements Storage {
  [name: string]: unknown;
  readonly #entries = new Map<string, string>();
  readonly #room: number;

  /** `room`: entries that it takes. */
  constructor(room = Number.POSITIVE_INFINITY) {
    this.#room = room;
  }

  get length(): number {
    return this.#entries.size;
  }

  key(index: number): string | null {
    return [...this.#entries.keys()][index] ?? null;
  }

  getItem(key: string): string | null {
    return this.#entries.get(key) ?? null;
  }

  setItem(key: string, text: string): void {
    if (!this.#entries.has(key) && this.#entries.size >= this.#room) {
      throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
    }
    this.#entries.set(key, text);
  }

  removeItem(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}

/** Of a window, what the parts of the page look at that know nothing of elements. */
export class FakeWindow extends EventTarget {
  readonly location = { reload: () => undefined };
  readonly #storage: FakeStorage | undefined;

  /** Without a storage: the browser blocks it, and even to look at it is an error. */
  constructor(storage: FakeStorage | undefined) {
    super();
    this.#storage = storage;
  }

  get localStorage(): Storage {
    if (this.#storage !== undefined) return this.#storage;
    throw new DOMException("Access is denied for this document.", "SecurityError");
  }

  get sessionStorage(): Storage {
    return this.localStorage;
  }
}
