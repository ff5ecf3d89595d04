import { MAX_SCREEN_CELLS } from "../../../protocol/limits.ts";
import type { Screen, ScreenSource, ScreenView } from "./message.ts";
import { ScreenWork } from "./work.ts";

/** Time slice of one session. */
const TURN_MS = 8;
/** Checks for idle terminals during `idleMs`. */
const IDLE_CHECKS = 4;

type ScreenPoolOptions = { readonly idleMs: number; readonly maxTerminals: number };

/**
 * Parses the terminals of all sessions in time slices. Keeps at most `maxTerminals` within MAX_SCREEN_CELLS; drops the
 * least recently used, and each after `idleMs` without a request.
 */
export class ScreenPool implements Disposable {
  readonly #options: ScreenPoolOptions;
  readonly #now: () => number;
  /** Least recently used first. */
  readonly #works = new Map<string, ScreenWork>();
  #turn: NodeJS.Immediate | undefined;
  readonly #idleCheck: NodeJS.Timeout;

  /** `now` in milliseconds, never going back. */
  constructor(options: ScreenPoolOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
    this.#idleCheck = setInterval(() => this.#dropIdle(), options.idleMs / IDLE_CHECKS);
  }

  view(source: ScreenSource, view: ScreenView): Promise<Screen> {
    const { id } = source;
    const work = this.#works.get(id) ?? new ScreenWork();
    work.usedAtMs = this.#now();
    this.#works.delete(id);
    this.#works.set(id, work);
    this.#turn ??= setImmediate(() => this.#run());
    return work.view(source, view);
  }

  forget(id: string): void {
    this.#works.get(id)?.fail(new Error(`session ${id} is gone`));
    this.#works.delete(id);
  }

  /** Writes checkpoints where parsing again would take long. */
  [Symbol.dispose](): void {
    clearImmediate(this.#turn);
    clearInterval(this.#idleCheck);
    for (const id of this.#works.keys()) this.#drop(id);
  }

  #run(): void {
    const busy = [...this.#works.values()].filter((work) => work.isBusy);
    // At most as many as may be kept; the others wait.
    for (const work of busy.slice(0, this.#options.maxTerminals)) {
      const end = this.#now() + TURN_MS;
      while (work.isBusy && this.#now() < end) work.step();
    }
    this.#dropSurplus();
    const isBusy = this.#works.values().some((work) => work.isBusy);
    this.#turn = isBusy ? setImmediate(() => this.#run()) : undefined;
  }

  #dropSurplus(): void {
    const kept = [...this.#works].filter(([, work]) => work.cells > 0);
    let cells = kept.reduce((sum, [, work]) => sum + work.cells, 0);
    let terminals = kept.length;
    for (const [id, work] of kept) {
      if (terminals <= this.#options.maxTerminals && cells <= MAX_SCREEN_CELLS) return;
      if (work.isBusy) continue;
      cells -= work.cells;
      terminals--;
      this.#drop(id);
    }
  }

  #dropIdle(): void {
    const limit = this.#now() - this.#options.idleMs;
    for (const [id, work] of this.#works) if (!work.isBusy && work.usedAtMs <= limit) this.#drop(id);
  }

  #drop(id: string): void {
    this.#works.get(id)?.[Symbol.dispose]();
    this.#works.delete(id);
  }
}
