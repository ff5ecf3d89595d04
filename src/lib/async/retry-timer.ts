type RetryOptions = { readonly firstMs: number; readonly maxMs: number; readonly retry: () => void };

/** Repeats work: `firstMs` after the first `start`, then with doubled pauses up to `maxMs`, until `stop`. */
export class RetryTimer implements Disposable {
  readonly #options: RetryOptions;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs: number;
  #isOver = false;

  constructor(options: RetryOptions) {
    this.#options = options;
    this.#pauseMs = options.firstMs;
  }

  get isStarted(): boolean {
    return this.#timer !== undefined;
  }

  /** Restarts the pause. */
  start(): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#due(), this.#pauseMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pauseMs = this.#options.firstMs;
  }

  [Symbol.dispose](): void {
    this.stop();
    this.#isOver = true;
  }

  #due(): void {
    this.#pauseMs = Math.min(2 * this.#pauseMs, this.#options.maxMs);
    this.#options.retry();
  }
}
