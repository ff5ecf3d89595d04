// Input typed while a session opens. Its screen may appear before the connection is ready, and people start to type.

/** Longer than opening takes on any working connection; later, the input may no longer be intended. */
const KEEP_MS = 3_000;
const MAX_BYTES = 4_096;

export class TypeAhead implements Disposable {
  readonly #onLate: () => void;
  readonly #keepMs: number;
  /** At most MAX_BYTES in all; undefined once nothing is kept any more. */
  #kept: Uint8Array[] | undefined = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * `onLate`: the kept input is dropped, because the session did not open in time; the time counts from the first key.
   */
  constructor(onLate: () => void, keepMs = KEEP_MS) {
    this.#onLate = onLate;
    this.#keepMs = keepMs;
  }

  /** False: the input is not kept, and earlier input is dropped. */
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

  /** The session has opened, or never will: returns the kept input in order. Nothing is kept from now on. */
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
