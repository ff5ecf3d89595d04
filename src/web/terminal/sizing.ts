// Which size the terminal has. A session has one size however many watch it, and the last who asked for another gets
// it. This window asks when it opens a session that nobody else watches or is the last one left, when it is resized by
// the person in front of it, and when that person says "fit". When somebody else took the size it follows, with smaller
// letters if need be. The output of an ended session is wrapped to fit this window.
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { TerminalSize } from "../../protocol/schemas/session.ts";

/** Below this letters are not shrunk: the pane scrolls instead. */
const MIN_SHRUNK_FONT_PX = 6;
/** So much larger a session of another size can be looked at. */
const MAX_ZOOM = 5;
/** Sizes that were asked for and not confirmed; older ones are forgotten. */
const MAX_ASKED = 8;

export type Drawing = {
  /** The size that fills the pane at the current font; undefined while it is not laid out. */
  readonly fittingSize: TerminalSize | undefined;
  /** Whether lines that leave the screen are kept above it. */
  readonly hasScrollback: boolean;
  setFontSize(px: number): void;
  resize(size: TerminalSize): void;
};

export type SizingOptions = {
  readonly drawing: Drawing;
  readonly fontSizePx: number;
  /** Whether the session can be asked for another size. */
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
  /** With such letters a session of another size fits; undefined while it was not drawn. */
  #shrunkPx: number | undefined;
  #hasEnded = false;

  constructor(options: SizingOptions) {
    this.#drawing = options.drawing;
    this.#isRunning = options.isRunning;
    this.#ask = options.ask;
    this.#fontSizePx = options.fontSizePx;
  }

  /** The session's own size. */
  get size(): ReadonlySignal<TerminalSize | undefined> {
    return this.#session;
  }

  /** The session's size where somebody else made it and it does not fit this window. */
  readonly foreign: ReadonlySignal<TerminalSize | undefined> = computed(() => {
    const [session, fitting] = [this.#session.value, this.#fitting.value];
    if (this.#isOurs.value) return undefined;
    return session === undefined || fitting === undefined || isSame(session, fitting) ? undefined : session;
  });

  /** Whether the session's size follows this window: of several windows only one may think so. */
  get isOurs(): boolean {
    return this.#isOurs.peek();
  }

  /** The session has that size, says the server. */
  told(size: TerminalSize): void {
    const before = this.#session.peek();
    const answered = this.#asked.findIndex((asked) => isSame(asked, size));
    this.#asked.splice(0, answered + 1);
    if (answered === -1 && before !== undefined && !isSame(before, size)) this.#isOurs.value = false;
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

  /** Looks at a session of another size more closely. `isOver`: the next scale is relative to this one. */
  zoom(scale: number, isOver: boolean): void {
    this.#zoom.now = Math.min(MAX_ZOOM, Math.max(1, this.#zoom.before * scale));
    if (isOver) this.#zoom.before = this.#zoom.now;
    if (this.#shrunkPx !== undefined) this.#drawing.setFontSize(halves(this.#shrunkPx * this.#zoom.now));
  }

  /** No program draws any more: the drawing may have another size than the session. */
  finish(): void {
    this.#hasEnded = true;
    this.layout();
  }

  /** From now on the size is this window's. */
  fit(): void {
    this.#isOurs.value = true;
    this.layout();
  }

  /** Pixels. */
  setFontSize(px: number): void {
    this.#fontSizePx = px;
    this.layout();
  }

  /** What was asked for is not answered any more: the link was lost, or it was refused. */
  forget(): void {
    this.#asked.length = 0;
  }

  #askFor(fitting: TerminalSize, session: TerminalSize): void {
    if (!this.#isRunning() || isSame(this.#asked.at(-1) ?? session, fitting)) return;
    this.#asked.push(fitting);
    if (this.#asked.length > MAX_ASKED) this.#asked.shift();
    this.#ask(fitting);
  }

  /** Cells are whole pixels, so that only trying shows which letters let the session fit. */
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

function isSame(one: TerminalSize, other: TerminalSize): boolean {
  return one.cols === other.cols && one.rows === other.rows;
}
