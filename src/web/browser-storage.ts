/** A window's storage and its event for changes in other tabs. */
export type StorageWindow = Pick<Window, "localStorage" | "addEventListener" | "removeEventListener">;

/**
 * The page's stored values. The browser may refuse the storage (blocked cookies), or it may be full; values then last
 * as long as the page. Holds one text for each of the page's few keys.
 */
export class BrowserStorage {
  readonly #storage: Storage | undefined;
  /** Values that the browser did not store. */
  readonly #unkept = new Map<string, string>();

  constructor(open: () => Storage) {
    this.#storage = opened(open);
  }

  get(key: string): string | undefined {
    return this.#unkept.get(key) ?? this.#storage?.getItem(key) ?? undefined;
  }

  set(key: string, text: string): void {
    this.#unkept.delete(key);
    if (this.#isTaken(key, text)) return;
    // The stored value of that key is outdated.
    this.delete(key);
    this.#unkept.set(key, text);
  }

  delete(key: string): void {
    this.#unkept.delete(key);
    this.#storage?.removeItem(key);
  }

  #isTaken(key: string, text: string): boolean {
    try {
      this.#storage?.setItem(key, text);
      return this.#storage !== undefined;
    } catch {
      return false;
    }
  }
}

/** Undefined if the browser forbids any access to it. */
export function opened(open: () => Storage): Storage | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}
