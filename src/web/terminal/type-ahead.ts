// What is typed while a session opens. Its screen may be there before the connection is; who sees it begins to type.

/** Longer than opening takes where anything answers at all; later, what was typed may not be meant any more. */
const KEEP_MS = 3_000;
const MAX_BYTES = 4_096;

export class TypeAhead implements Disposable {
  readonly #onLate: () => void;
  readonly #keepMs: number;
  /** At most MAX_BYTES in all; undefined when nothing is kept any more. */
  #kept: Uint8Array[] | undefined = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `onLate`: what was kept is dropped, since the session did not open in time; the moment counts from the first key. */
  constructor(onLate: () => void, keepMs = KEEP_MS) {
    this.#onLate = onLate;
    this.#keepMs = keepMs;
  }

  /** False: it is not kept, and what was is dropped. */
  keep(bytes: Uint8Array): boolean {
    if (this.#kept === undefined) return false;
    const keptBytes = this.#kept.reduce((sum, { length }) => sum + length, 0);
    if (keptBytes + bytes.length > MAX_BYTES) {
      this.end();
      return false;
    }
    this.#kept.push(bytes);
    this.#timer ??= setTimeout(() => this.#giveUp(), this.#keepMs);
    return true;
  }

  /** The session is open, or never will be: what was kept, in order. Nothing is kept from now on. */
  end(): readonly Uint8Array[] {
    clearTimeout(this.#timer);
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    return kept;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #giveUp(): void {
    this.end();
    this.#onLate();
  }
}
