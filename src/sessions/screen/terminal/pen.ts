import type { ScreenCore } from "./core.ts";
import type { ScreenLinks } from "./links.ts";
import { hasDefaultBackground, isSameStyle, PLAIN, type Style, sgr } from "./style.ts";

const JOINS = 1;
const WIDTH_SHIFT = 1;
const WIDTH_MASK = 3;

/** Columns of the last character and of the characters that it joined. */
export function joinedWidth(joinState: number): number {
  return (joinState >> WIDTH_SHIFT) & WIDTH_MASK;
}

/** Writes text and sequences, and tracks style and join state of the terminal. */
export class ScreenPen {
  readonly #unicode: ScreenCore["unicode"];
  readonly #links: ScreenLinks;
  #text = "";
  #style: Style = PLAIN;
  #joinState = 0;

  constructor({ unicode }: Pick<ScreenCore, "unicode">, links: ScreenLinks) {
    this.#unicode = unicode;
    this.#links = links;
  }

  get text(): string {
    return this.#text;
  }

  /** A sequence that changes neither style nor link. */
  control(sequence: string): void {
    this.#text += sequence;
    this.#joinState = 0;
  }

  style(style: Style): void {
    if (isSameStyle(style, this.#style)) return;
    const { link, ...rest } = this.#style;
    if (!isSameStyle({ ...rest, link: style.link }, style)) this.control(sgr(style));
    if (link !== style.link) this.control(this.#links.sequence(style.link));
    this.#style = style;
  }

  assume(style: Style): void {
    this.#style = style;
  }

  /** Lines that scroll in take the background. */
  plainBackground(): void {
    if (!hasDefaultBackground(this.#style)) this.style(PLAIN);
  }

  /** Prints the text of one cell, separate from the one before it. Returns its columns. */
  cell(text: string): number {
    const first = text.codePointAt(0) ?? 0;
    this.#printFirst(first);
    let length = first > 0xffff ? 2 : 1;
    while (length < text.length) {
      const next = text.codePointAt(length) ?? 0;
      const state = this.#unicode.charProperties(next, this.#joinState);
      if ((state & JOINS) === 0) break;
      this.#joinState = state;
      length += next > 0xffff ? 2 : 1;
    }
    this.#text += length === text.length ? text : text.slice(0, length);
    return joinedWidth(this.#joinState);
  }

  #printFirst(codePoint: number): void {
    const isAfter = this.#joinState !== 0;
    this.#joinState = this.#unicode.charProperties(codePoint, this.#joinState);
    if (!isAfter || (this.#joinState & JOINS) === 0) return;
    // Terminals ignore NUL, and nothing joins across it.
    this.control("\0");
    this.#joinState = this.#unicode.charProperties(codePoint, 0);
  }

  /** Moves to a column of the current row, counted from 0. */
  column(column: number): void {
    this.control(`\x1b[${column + 1}G`);
  }
}
