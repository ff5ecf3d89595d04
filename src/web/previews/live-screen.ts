// A session's screen on a canvas, redrawn as it changes, while the canvas is visible.
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import type { Palette } from "../terminal/emulator/palette.ts";
import { decodeSnapshot } from "./decode-snapshot.ts";
import { drawScreen } from "./draw-screen.ts";

export type LiveScreenOptions = {
  readonly canvas: HTMLCanvasElement;
  /** Calls back with each SNAPSHOT_VT payload until it is disposed. */
  readonly subscribe: (onSnapshot: (payload: Uint8Array) => void) => Disposable;
  readonly size: TerminalSize;
  readonly palette: Palette;
};

export class LiveScreen implements Disposable {
  readonly #options: LiveScreenOptions;
  readonly #observer: IntersectionObserver;
  #subscription: Disposable | undefined;
  /** The newest payload that is not drawn yet. A hidden tab has no frames, so it draws nothing. */
  #snapshot: Uint8Array | undefined;
  #frame = 0;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
    this.#observer = new IntersectionObserver((entries) =>
      this.#moved(entries.at(-1)?.isIntersecting === true),
    );
    this.#observer.observe(options.canvas);
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect();
    this.#moved(false);
  }

  #moved(isInSight: boolean): void {
    if (isInSight) {
      this.#subscription ??= this.#options.subscribe((payload) => this.#received(payload));
      return;
    }
    this.#subscription?.[Symbol.dispose]();
    this.#subscription = undefined;
    cancelAnimationFrame(this.#frame);
    this.#snapshot = undefined;
  }

  #received(payload: Uint8Array): void {
    if (this.#snapshot === undefined) this.#frame = requestAnimationFrame(() => this.#draw());
    this.#snapshot = payload;
  }

  #draw(): void {
    if (this.#snapshot === undefined) return;
    const { canvas, size, palette } = this.#options;
    const snapshot = this.#snapshot;
    // First, or an invalid one would stop the drawing.
    this.#snapshot = undefined;
    const screen = decodeSnapshot(snapshot);
    const { clientWidth, clientHeight } = canvas;
    canvas.width = clientWidth * devicePixelRatio;
    canvas.height = clientHeight * devicePixelRatio;
    drawScreen(canvas, screen, size, { palette, fontFamily: getComputedStyle(canvas).fontFamily });
    canvas.classList.add("drawn");
  }
}
