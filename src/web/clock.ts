// The time as a signal, for ages in the list.
import { type ReadonlySignal, signal } from "@preact/signals";

/** The coarsest step that an age in minutes needs. */
const TICK_MS = 20_000;

export class Clock implements Disposable {
  readonly #now = signal(Date.now());
  readonly #timer = setInterval(() => {
    this.#now.value = Date.now();
  }, TICK_MS);

  /** Milliseconds since 1970. */
  get now(): ReadonlySignal<number> {
    return this.#now;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
