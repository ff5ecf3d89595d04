// Catches up with the live edge. A program may write a hundred times faster than a browser draws. The excess waits in
// the network and then in the server's journal, possibly for minutes, but after Ctrl+C a person wants to see the prompt
// now. So during much output the page checks how far the session is. If it is too far behind, it draws the current
// screen and follows the output from there. The recording keeps the skipped output. Up to 10 MB of output are never
// skipped. Browsers slow down hidden windows: they skip nothing until they are visible.

/** Interval of checks while at least BUSY_BYTES arrived since the last one. The server counts requests. */
export const CHECK_INTERVAL_MS = 3_000;
export const BUSY_BYTES = 1024 * 1024;
/** If it is further behind than this, the rest is skipped. */
export const MAX_BEHIND_BYTES = 16 * 1024 * 1024;
/** The same limit after input, whose effect the person wants to see. */
export const MAX_BEHIND_TYPING_BYTES = 2 * 1024 * 1024;
/** Pause after a check, relative to its duration: for a screen the host parses all output since the last one. */
export const REST = 4;

export type CatchUpOptions = {
  /** Bytes of the session's output that have not arrived or are not parsed yet. */
  readonly behind: () => Promise<number>;
  readonly skip: () => Promise<void>;
  readonly isShown: () => boolean;
  /** Milliseconds. */
  readonly now: () => number;
};

export class CatchUp {
  readonly #options: CatchUpOptions;
  #since: number;
  #bytes = 0;
  #isBusy = false;
  #isChecking = false;
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(options: CatchUpOptions) {
    this.#options = options;
    this.#since = options.now();
  }

  /** Reports output. */
  received(bytes: number): void {
    this.#bytes += bytes;
    const now = this.#options.now();
    if (now - this.#since < CHECK_INTERVAL_MS) return;
    this.#isBusy = this.#bytes >= BUSY_BYTES;
    this.#since = now;
    this.#bytes = 0;
    if (this.#isBusy) void this.#check(MAX_BEHIND_BYTES);
  }

  /** Reports input. */
  typed(): void {
    if (this.#isBusy || this.#bytes >= BUSY_BYTES) void this.#check(MAX_BEHIND_TYPING_BYTES);
  }

  async #check(limit: number): Promise<void> {
    const { isShown, behind, skip, now } = this.#options;
    const began = now();
    if (this.#isChecking || began < this.#restsUntil || !isShown()) return;
    this.#isChecking = true;
    try {
      if ((await behind()) > limit) await skip();
    } catch {
      // The position or the screen is unavailable, so the output continues normally.
    }
    this.#isChecking = false;
    this.#restsUntil = now() + REST * (now() - began);
  }
}
