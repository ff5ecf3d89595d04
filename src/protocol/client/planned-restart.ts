import {
  AWAITED_RESTART_MS,
  PLANNED_RESTART_MS,
  RECONNECT_AWAITED_MS,
  RECONNECT_PLANNED_MS,
} from "../limits.ts";

/**
 * A restart that the server announced by GOAWAY: the time at which its link is left, the time for which a missing link is
 * expected, and the delays and timeouts of attempts until the server is back.
 */
export class PlannedRestart implements Disposable {
  readonly #events: { readonly due: () => void; readonly over: () => void };
  readonly #plannedMs: number;
  #due: ReturnType<typeof setTimeout> | undefined;
  #over: ReturnType<typeof setTimeout> | undefined;
  #awaited: ReturnType<typeof setTimeout> | undefined;
  #lateTries = 0;

  /** `due`: the link is to be left now. `over`: the restart takes longer than planned. */
  constructor(
    events: { readonly due: () => void; readonly over: () => void },
    plannedMs: number = PLANNED_RESTART_MS,
  ) {
    this.#events = events;
    this.#plannedMs = plannedMs;
  }

  get isOn(): boolean {
    return this.#over !== undefined;
  }

  /** Between two attempts, in ms; undefined without an announced restart. */
  get longestPauseMs(): number | undefined {
    if (this.isOn) return RECONNECT_PLANNED_MS;
    return this.#awaited === undefined ? undefined : RECONNECT_AWAITED_MS;
  }

  /**
   * Timeout of an attempt, in ms: `tryMs` during a restart, otherwise `connectMs`. It doubles after each timeout up to
   * `connectMs`, so that a slow server is reached in the end.
   */
  longestTryMs({ tryMs, connectMs }: { readonly tryMs: number; readonly connectMs: number }): number {
    if (this.longestPauseMs === undefined) return connectMs;
    return Math.min(tryMs * 2 ** this.#lateTries, connectMs);
  }

  /** An attempt timed out. */
  tryWasLate(): void {
    this.#lateTries += 1;
  }

  /** The link is left after this delay. The first announcement counts. */
  begin(delayMs: number): void {
    if (this.isOn) return;
    this.#lateTries = 0;
    this.#due = setTimeout(this.#events.due, delayMs);
    this.#over = setTimeout(() => {
      this.#over = undefined;
      this.#events.over();
    }, delayMs + this.#plannedMs);
    this.#awaited = setTimeout(() => {
      this.#awaited = undefined;
    }, delayMs + AWAITED_RESTART_MS);
  }

  /** There is a link to the new server, or the connection is closed for good. */
  end(): void {
    clearTimeout(this.#due);
    clearTimeout(this.#over);
    clearTimeout(this.#awaited);
    this.#over = undefined;
    this.#awaited = undefined;
  }

  [Symbol.dispose](): void {
    this.end();
  }
}
