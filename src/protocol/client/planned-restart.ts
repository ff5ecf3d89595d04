import {
  AWAITED_RESTART_MS,
  PLANNED_RESTART_MS,
  RECONNECT_AWAITED_MS,
  RECONNECT_PLANNED_MS,
} from "../limits.ts";

/**
 * A restart that the server announced by GOAWAY: when its link is left, how long having none surprises nobody, and how
 * often and how long to try meanwhile and later.
 */
export class PlannedRestart implements Disposable {
  readonly #events: { readonly due: () => void; readonly over: () => void };
  readonly #plannedMs: number;
  #due: ReturnType<typeof setTimeout> | undefined;
  #over: ReturnType<typeof setTimeout> | undefined;
  #awaited: ReturnType<typeof setTimeout> | undefined;
  #lateTries = 0;

  /** `due`: the link is to be left now. `over`: the restart takes longer than one would plan. */
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

  /** Between two tries to come back, in ms; undefined where nobody said that the server comes back. */
  get longestPauseMs(): number | undefined {
    if (this.isOn) return RECONNECT_PLANNED_MS;
    return this.#awaited === undefined ? undefined : RECONNECT_AWAITED_MS;
  }

  /**
   * Of a try to connect, in ms: `tryMs` while the server is expected back, otherwise `connectMs`. It doubles with each
   * try that was late, up to `connectMs`: so a server that is slow is reached in the end, and a try in vain lasts at most
   * `tryMs` longer than the server was away before it.
   */
  longestTryMs({ tryMs, connectMs }: { readonly tryMs: number; readonly connectMs: number }): number {
    if (this.longestPauseMs === undefined) return connectMs;
    return Math.min(tryMs * 2 ** this.#lateTries, connectMs);
  }

  /** Nobody answered a try for as long as it may take. */
  tryWasLate(): void {
    this.#lateTries += 1;
  }

  /** In so many ms the link is left; what was announced first counts. */
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

  /** There is a link to the new server, or there will be none. */
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
