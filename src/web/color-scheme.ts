// Whether the person asks for dark or light, as a signal; it may change while the page is open.
import { type ReadonlySignal, signal } from "@preact/signals";

export type ColorScheme = "dark" | "light";

export class SchemeWatch implements Disposable {
  readonly #query: MediaQueryList;
  readonly #scheme = signal<ColorScheme>("dark");
  readonly #read = (): void => {
    this.#scheme.value = this.#query.matches ? "light" : "dark";
  };

  constructor(window: Window) {
    this.#query = window.matchMedia("(prefers-color-scheme: light)");
    this.#read();
    this.#query.addEventListener("change", this.#read);
  }

  get scheme(): ReadonlySignal<ColorScheme> {
    return this.#scheme;
  }

  [Symbol.dispose](): void {
    this.#query.removeEventListener("change", this.#read);
  }
}
