import {
  AWAITED_RESTART_MS,
  PLANNED_RESTART_MS,
  RECONNECT_AWAITED_MS,
  RECONNECT_PLANNED_MS,
} from "./limits.ts";

/**
 * A restart that the server announced by GOAWAY: when its link is left, how long having none surprises nobody, and how
 * often to try meanwhile and later.
 */
export class PlannedRestart implements Disposable {
  readonly #events: { readonly due: () => void; readonly over: () => void };
  readonly #plannedMs: number;
  #due: ReturnType<typeof setTimeout> | undefined;
  #over: ReturnType<typeof setTimeout> | undefined;
  #awaited: ReturnType<typeof setTimeout> | undefined;

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

  /** In so many ms the link is left; what was announced first counts. */
  begin(delayMs: number): void {
    if (this.isOn) return;
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
