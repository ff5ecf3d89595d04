// Chooses the terminal's size. A session has one size for all viewers, and the last request wins. This window requests
// its size when it opens a session without other viewers or is the last one left, when a person resizes it, and when
// that person says "fit". If another viewer set the size, this window follows, with a smaller font if necessary. The
// output of an ended session is wrapped to fit this window.
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { TerminalSize } from "../../protocol/schemas/session.ts";

/** The smallest font size: below it the pane scrolls instead. */
const MIN_SHRUNK_FONT_PX = 6;
/** The maximum zoom of a session of another size. */
const MAX_ZOOM = 5;
/** Unconfirmed requested sizes; the next request waits for an answer. */
const MAX_ASKED = 8;

export type Drawing = {
  /** The size that fills the pane at the current font; undefined without a layout. */
  readonly fittingSize: TerminalSize | undefined;
  /** Whether lines that leave the screen enter the scrollback. */
  readonly hasScrollback: boolean;
  setFontSize(px: number): void;
  resize(size: TerminalSize): void;
};

export type SizingOptions = {
  readonly drawing: Drawing;
  readonly fontSizePx: number;
  /** Whether the session accepts another size. */
  readonly isRunning: () => boolean;
  /** Sends RESIZE. */
  readonly ask: (size: TerminalSize) => void;
};

export class Sizing {
  readonly #drawing: Drawing;
  readonly #isRunning: () => boolean;
  readonly #ask: (size: TerminalSize) => void;
  readonly #session = signal<TerminalSize | undefined>(undefined);
  readonly #fitting = signal<TerminalSize | undefined>(undefined);
  readonly #asked: TerminalSize[] = [];
  readonly #isOurs = signal(false);
  /** Zoom of a session of another size: now, and before the current gesture. */
  readonly #zoom = { before: 1, now: 1 };
  #fontSizePx: number;
  /** The font size at which a session of another size fits; undefined until it was drawn. */
  #shrunkPx: number | undefined;
  #hasEnded = false;

  constructor(options: SizingOptions) {
    this.#drawing = options.drawing;
    this.#isRunning = options.isRunning;
    this.#ask = options.ask;
    this.#fontSizePx = options.fontSizePx;
  }

  /** The session's size, if another viewer set it and it does not fit this window. */
  readonly foreign: ReadonlySignal<TerminalSize | undefined> = computed(() => {
    const [session, fitting] = [this.#session.value, this.#fitting.value];
    if (this.#isOurs.value) return undefined;
    return session === undefined || fitting === undefined || isSame(session, fitting) ? undefined : session;
  });

  /** Whether the session's size follows this window: true for at most one of several windows. */
  get isOurs(): boolean {
    return this.#isOurs.peek();
  }

  /** The server reports the session's size; must be followed by `layout`. */
  told(size: TerminalSize): void {
    const answered = this.#asked.findIndex((asked) => isSame(asked, size));
    // The answer to a request for the fitting size may have been lost.
    const expected = [this.#session.peek() ?? size, this.#fitting.peek()];
    // Another window's request may have come before this window's.
    if (answered !== -1) this.#isOurs.value = true;
    else if (!expected.some((known) => isSame(known, size))) this.#isOurs.value = false;
    this.#asked.splice(0, answered + 1);
    this.#session.value = size;
  }

  /** The pane, the font or the session's size changed. */
  layout(): void {
    this.#drawing.setFontSize(this.#fontSizePx);
    const fitting = this.#drawing.fittingSize;
    const session = this.#session.peek();
    this.#fitting.value = fitting;
    if (fitting === undefined || session === undefined) return;
    if (this.#hasEnded && this.#drawing.hasScrollback)
      this.#drawing.resize({ cols: Math.min(session.cols, fitting.cols), rows: fitting.rows });
    else if (this.isOurs && !this.#hasEnded) this.#askFor(fitting, session);
    else this.#adapt(fitting, session);
  }

  /** Zooms a session of another size. `isOver`: the next scale is relative to this one. */
  zoom(scale: number, isOver: boolean): void {
    this.#zoom.now = Math.min(MAX_ZOOM, Math.max(1, this.#zoom.before * scale));
    if (isOver) this.#zoom.before = this.#zoom.now;
    if (this.#shrunkPx !== undefined) this.#drawing.setFontSize(halves(this.#shrunkPx * this.#zoom.now));
  }

  /** The program has ended: the drawing may have another size than the session. */
  finish(): void {
    this.#hasEnded = true;
    this.layout();
  }

  /** From now on the session has this window's size. */
  fit(): void {
    this.#isOurs.value = true;
    this.layout();
  }

  /** Pixels. */
  setFontSize(px: number): void {
    this.#fontSizePx = px;
    this.layout();
  }

  /** The server refused a requested size. Unless it accepts a later one, this window follows the session's size. */
  refused(size: TerminalSize): void {
    const refused = this.#asked.findIndex((asked) => isSame(asked, size));
    if (refused !== -1) this.#asked.splice(refused, 1);
    if (this.#asked.length === 0) this.#isOurs.value = false;
    this.layout();
  }

  /** Pending requests get no answer: the connection or the machine was lost. */
  forget(): void {
    this.#asked.length = 0;
  }

  #askFor(fitting: TerminalSize, session: TerminalSize): void {
    if (!this.#isRunning() || isSame(this.#asked.at(-1) ?? session, fitting)) return;
    if (this.#asked.length >= MAX_ASKED) return;
    this.#asked.push(fitting);
    this.#ask(fitting);
  }

  /** Cells are whole pixels, so the fitting font size is found by trying. */
  #adapt(fitting: TerminalSize, session: TerminalSize): void {
    const scale = Math.min(1, fitting.cols / session.cols, fitting.rows / session.rows);
    let px = Math.min(this.#fontSizePx, Math.max(MIN_SHRUNK_FONT_PX, halves(this.#fontSizePx * scale)));
    this.#drawing.setFontSize(px);
    while (px > MIN_SHRUNK_FONT_PX && !isWithin(session, this.#drawing.fittingSize ?? session)) {
      px -= 0.5;
      this.#drawing.setFontSize(px);
    }
    this.#shrunkPx = px;
    this.#drawing.setFontSize(halves(px * this.#zoom.now));
  }
}

/** Half pixels, rounded down. */
function halves(px: number): number {
  return Math.floor(px * 2) / 2;
}

function isWithin(one: TerminalSize, other: TerminalSize): boolean {
  return one.cols <= other.cols && one.rows <= other.rows;
}

function isSame(one: TerminalSize | undefined, other: TerminalSize): boolean {
  return one?.cols === other.cols && one.rows === other.rows;
}
