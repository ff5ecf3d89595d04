// A value of the server that is read again after changes, at most once in READ_INTERVAL_MS and only while the page is
// visible, because requests are counted.
/** Minimum time between two readings. */
const READ_INTERVAL_MS = 2_500;
/** After a refusal: the server is busy, or the request limit is reached. */
const RETRY_MS = 10_000;

/** Whether the document is visible. */
export type Stage = Pick<Document, "visibilityState" | "addEventListener" | "removeEventListener">;

export type RefresherOptions = {
  /** Rejects if reading failed: it is retried, and the connection's banner shows the problem. `signal` cancels it. */
  readonly read: (signal: AbortSignal) => Promise<void>;
  readonly stage: Stage;
  readonly intervalMs?: number | undefined;
  readonly retryMs?: number | undefined;
};

export class Refresher implements Disposable {
  readonly #read: RefresherOptions["read"];
  readonly #stage: Stage;
  readonly #intervalMs: number;
  readonly #retryMs: number;
  readonly #shown = (): void => this.#readLater();
  #cut = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #isStale = false;
  #wasRead = false;
  #isDisposed = false;

  constructor({ read, stage, intervalMs = READ_INTERVAL_MS, retryMs = RETRY_MS }: RefresherOptions) {
    this.#read = read;
    this.#stage = stage;
    this.#intervalMs = intervalMs;
    this.#retryMs = retryMs;
    this.#stage.addEventListener("visibilitychange", this.#shown);
  }

  /** Reads again as soon as allowed. */
  refresh(): void {
    this.#isStale = true;
    this.#readLater();
  }

  /** A new connection: failures and pending requests of the old one no longer count. */
  renewed(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // The first reading continues: it runs beside the page's first connection.
    if (this.#wasRead) this.#cut.abort();
    this.refresh();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    this.#stage.removeEventListener("visibilitychange", this.#shown);
  }

  #readLater(inMs = 0): void {
    if (!this.#isStale || this.#isReading || this.#isDisposed || this.#timer !== undefined) return;
    // The first reading runs even in a background page, whose title shows a session's name.
    if (this.#stage.visibilityState !== "visible" && this.#wasRead) return;
    const wait = Math.max(inMs, this.#readAt + this.#intervalMs - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#readNow(), wait);
  }

  async #readNow(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    this.#isStale = false;
    this.#cut = new AbortController();
    const { signal } = this.#cut;
    let retryMs = 0;
    try {
      await this.#read(signal);
      this.#wasRead = true;
    } catch {
      this.#isStale = true;
      if (!signal.aborted) retryMs = this.#retryMs;
    }
    // After a cancelled reading the next need not wait.
    if (!signal.aborted) this.#readAt = performance.now();
    this.#isReading = false;
    this.#readLater(retryMs);
  }
}
