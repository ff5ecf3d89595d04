import type { ScreenCore } from "./screen-core.ts";
import type { ScreenLinks } from "./screen-links.ts";
import { hasDefaultBackground, isSameStyle, PLAIN, type Style, sgr } from "./screen-style.ts";

/** A longer cell is cut: a program can pile marks on one character without end. */
const MAX_CELL_LENGTH = 256;
const JOINS = 1;

/** Text and sequences for a terminal whose style and join state are known: what is written there draws a screen. */
export class ScreenPen {
  readonly #core: Pick<ScreenCore, "joinStateAfter">;
  readonly #links: ScreenLinks;
  readonly #pieces: string[] = [];
  #style: Style = PLAIN;
  #joinState = 0;

  constructor(core: Pick<ScreenCore, "joinStateAfter">, links: ScreenLinks) {
    this.#core = core;
    this.#links = links;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  /** A sequence that changes neither style nor link. */
  control(sequence: string): void {
    this.#pieces.push(sequence);
    this.#joinState = 0;
  }

  style(style: Style): void {
    if (isSameStyle(style, this.#style)) return;
    const { link, ...rest } = this.#style;
    if (!isSameStyle({ ...rest, link: style.link }, style)) this.control(sgr(style));
    if (link !== style.link) this.control(this.#links.sequence(style.link));
    this.#style = style;
  }

  /** Lines that scroll in take the background. */
  plainBackground(): void {
    if (!hasDefaultBackground(this.#style)) this.style(PLAIN);
  }

  /** The text of one cell, which does not join the one before it. */
  cell(text: string): void {
    const shown = text.length <= MAX_CELL_LENGTH ? text : text.slice(0, MAX_CELL_LENGTH).toWellFormed();
    const first = shown.codePointAt(0) ?? 0;
    // NUL is ignored by every terminal, but what comes after it joins nothing.
    if (this.#joinState !== 0 && this.#core.joinStateAfter(first, this.#joinState) & JOINS)
      this.control("\0");
    for (const character of shown) {
      this.#joinState = this.#core.joinStateAfter(character.codePointAt(0) ?? 0, this.#joinState);
    }
    this.#pieces.push(shown);
  }

  /** To a column of the row in which the cursor is, counted from 0. */
  column(column: number): void {
    this.control(`\x1b[${column + 1}G`);
  }
}
