import { type ReadonlySignal, signal } from "@preact/signals";
import type { ISearchOptions, SearchAddon } from "@xterm/addon-search";
import type { ColorScheme } from "../../media-watch.ts";
import { searchColors } from "./palette.ts";

export type Found = {
  readonly count: number;
  /** From 1; 0 if unknown. */
  readonly current: number;
};

/** Finds and marks text in the terminal's content. */
export class TextSearch implements Disposable {
  readonly #addon: SearchAddon;
  readonly #found = signal<Found | undefined>(undefined);
  /** Undefined without a search. */
  readonly found: ReadonlySignal<Found | undefined> = this.#found;
  readonly #listening: { dispose(): void };
  #scheme: ColorScheme;

  constructor(addon: SearchAddon, scheme: ColorScheme) {
    this.#addon = addon;
    this.#scheme = scheme;
    this.#listening = addon.onDidChangeResults(({ resultCount, resultIndex }) => {
      this.#found.value = { count: resultCount, current: resultIndex + 1 };
    });
  }

  /** `isIncremental`: keeps the current match while it fits the longer text. */
  next(text: string, isIncremental: boolean): void {
    if (text === "") this.clear();
    else this.#addon.findNext(text, { ...this.#options(), incremental: isIncremental });
  }

  previous(text: string): void {
    if (text !== "") this.#addon.findPrevious(text, this.#options());
  }

  clear(): void {
    this.#addon.clearDecorations();
    this.#found.value = undefined;
  }

  setScheme(scheme: ColorScheme): void {
    this.#scheme = scheme;
  }

  [Symbol.dispose](): void {
    this.#listening.dispose();
  }

  #options(): ISearchOptions {
    return { decorations: searchColors(this.#scheme) };
  }
}
