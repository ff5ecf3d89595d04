/** Of a window: its storage, and what tells when another tab has changed it. */
export type StorageWindow = Pick<Window, "localStorage" | "addEventListener" | "removeEventListener">;

/**
 * What the browser keeps for the page, in a storage that it may refuse (cookies are blocked) or that may be full: then it
 * lasts as long as the page. Holds one text for each of the page's own few keys.
 */
export class BrowserStorage {
  readonly #storage: Storage | undefined;
  /** What the browser did not take. */
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
    // What it has of that key is not what was set.
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

/** Undefined where the browser does not even let a page look at it. */
export function opened(open: () => Storage): Storage | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}
