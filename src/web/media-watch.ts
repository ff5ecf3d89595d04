import { type ReadonlySignal, signal } from "@preact/signals";

/** The list and a session do not fit beside each other; the style sheets have the same query. */
export const NARROW = "(max-width: 760px), (max-height: 480px) and (pointer: coarse)";

/** The system prefers light colours. */
export const LIGHT = "(prefers-color-scheme: light)";
export type ColorScheme = "dark" | "light";

/** Whether a media query matches, as a signal. */
export class MediaWatch implements Disposable {
  readonly #query: MediaQueryList;
  readonly #matches = signal(false);
  readonly matches: ReadonlySignal<boolean> = this.#matches;
  readonly #read = (): void => {
    this.#matches.value = this.#query.matches;
  };

  constructor(window: Window, query: string) {
    this.#query = window.matchMedia(query);
    this.#read();
    this.#query.addEventListener("change", this.#read);
  }

  [Symbol.dispose](): void {
    this.#query.removeEventListener("change", this.#read);
  }
}
