import { PLANNED_RESTART_MS } from "./limits.ts";

/** A restart that the server announced by GOAWAY: when its link is left, and how long having none surprises nobody. */
export class PlannedRestart implements Disposable {
  readonly #events: { readonly due: () => void; readonly over: () => void };
  readonly #plannedMs: number;
  #due: ReturnType<typeof setTimeout> | undefined;
  #over: ReturnType<typeof setTimeout> | undefined;

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

  /** In so many ms the link is left; what was announced first counts. */
  begin(delayMs: number): void {
    if (this.isOn) return;
    this.#due = setTimeout(this.#events.due, delayMs);
    this.#over = setTimeout(() => {
      this.end();
      this.#events.over();
    }, delayMs + this.#plannedMs);
  }

  /** There is a link to the new server, or there will be none. */
  end(): void {
    clearTimeout(this.#due);
    clearTimeout(this.#over);
    this.#over = undefined;
  }

  [Symbol.dispose](): void {
    this.end();
  }
}
