// How the page keeps up with the present. A program may write a hundred times faster than a browser draws. The excess
// waits in the network and, beyond that, in the server's journal, where it may be minutes deep; and a person who presses
// Ctrl+C wants to see the prompt now. So, while much output comes, the page asks how far the session is, and when it is
// too far behind it skips: the screen as it is now is drawn, and the output followed from there. What is skipped stays
// in the recording. 10 MB of output are never skipped here. A window that is not shown parses slowly (browsers see to that):
// it skips nothing until it is shown.

/** So often it is asked, while at least BUSY_BYTES came since the last time. Requests are counted by the server. */
export const CHECK_INTERVAL_MS = 3_000;
export const BUSY_BYTES = 1024 * 1024;
/** Further behind than this the rest is skipped. */
export const MAX_BEHIND_BYTES = 16 * 1024 * 1024;
/** The same when somebody just typed something, and so wants to see what comes of it. */
export const MAX_BEHIND_TYPING_BYTES = 2 * 1024 * 1024;
/** After a check there is none for so many times as long as it took: for a screen the host parses all since the last one. */
export const REST = 4;

export type CatchUpOptions = {
  /** How many bytes the session has written that did not come, or are not parsed yet. */
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

  /** Output came. */
  received(bytes: number): void {
    this.#bytes += bytes;
    const now = this.#options.now();
    if (now - this.#since < CHECK_INTERVAL_MS) return;
    this.#isBusy = this.#bytes >= BUSY_BYTES;
    this.#since = now;
    this.#bytes = 0;
    if (this.#isBusy) void this.#check(MAX_BEHIND_BYTES);
  }

  /** Somebody typed something. */
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
      // Nothing is known or no screen to be had: the output goes on as it comes.
    }
    this.#isChecking = false;
    this.#restsUntil = now() + REST * (now() - began);
  }
}
