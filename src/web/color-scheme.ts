// Whether the system prefers dark or light, as a signal; it may change while the page is open.
import { computed, type ReadonlySignal } from "@preact/signals";
import { MediaWatch } from "./media-watch.ts";

export type ColorScheme = "dark" | "light";

export class SchemeWatch implements Disposable {
  readonly scheme: ReadonlySignal<ColorScheme>;
  readonly #isLight: MediaWatch;

  constructor(window: Window) {
    const isLight = new MediaWatch(window, "(prefers-color-scheme: light)");
    this.#isLight = isLight;
    this.scheme = computed(() => (isLight.matches.value ? "light" : "dark"));
  }

  [Symbol.dispose](): void {
    this.#isLight[Symbol.dispose]();
  }
}
