// Fingers on the terminal, of which xterm.js 6.0 knows nothing. One that moves scrolls, and goes on for a while when it is
// lifted; one that rests selects the word under it, and more as it moves.
import type { Terminal } from "@xterm/xterm";

/** Moving less than this is resting. */
const SLOP_PX = 8;
const LONG_PRESS_MS = 450;
/** What is left of the speed after each frame of momentum. */
const FRICTION = 0.95;
const MIN_SPEED_PX = 0.5;

type Cell = { readonly col: number; readonly row: number };
/** A program that asked for the mouse, the output with its scrollback, or a program that draws the whole screen. */
type Scrolled = "mouse" | "normal" | "alternate";
type Gesture = {
  readonly x: number;
  readonly y: number;
  readonly longPress: ReturnType<typeof setTimeout>;
  /** What scrolls: momentum ends when another program draws. */
  readonly scrolled: Scrolled;
  /** Where the finger was last, and how far it moved then. */
  lastY: number;
  speed: number;
  kind: "resting" | "scrolling" | { readonly selectedFrom: Cell; readonly length: number };
};

export type TouchOptions = {
  readonly terminal: Terminal;
  /** As if it had been typed. */
  readonly type: (text: string) => void;
};

export class TouchInput implements Disposable {
  readonly #terminal: Terminal;
  readonly #type: (text: string) => void;
  readonly #stop = new AbortController();
  #screen: HTMLElement | undefined;
  #gesture: Gesture | undefined;
  /** Moved and not scrolled: less than a line. */
  #restPx = 0;
  #frame = 0;

  constructor({ terminal, type }: TouchOptions) {
    this.#terminal = terminal;
    this.#type = type;
  }

  /** To be called when the terminal is drawn into the element. */
  open(element: HTMLElement): void {
    this.#screen = element.querySelector<HTMLElement>(".xterm-screen") ?? element;
    const options = { signal: this.#stop.signal, passive: false };
    element.addEventListener("touchstart", (event) => this.#began(event), options);
    element.addEventListener("touchmove", (event) => this.#moved(event), options);
    element.addEventListener("touchend", (event) => this.#ended(event), options);
    element.addEventListener("touchcancel", () => this.#forget(), options);
    // A browser's own menu for a long press would lie over the selection.
    element.addEventListener("contextmenu", (event) => this.#gesture && event.preventDefault(), options);
  }

  [Symbol.dispose](): void {
    this.#forget();
    this.#stop.abort();
  }

  #began(event: TouchEvent): void {
    this.#forget();
    const [touch] = event.touches;
    if (touch === undefined || event.touches.length > 1) return;
    const { clientX: x, clientY: y } = touch;
    const longPress = setTimeout(() => this.#select(), LONG_PRESS_MS);
    const scrolled = this.#scrolled;
    this.#gesture = { x, y, longPress, scrolled, lastY: y, speed: 0, kind: "resting" };
  }

  #moved(event: TouchEvent): void {
    const gesture = this.#gesture;
    const [touch] = event.touches;
    if (gesture === undefined || touch === undefined) return;
    if (gesture.kind === "resting") {
      const [right, down] = [Math.abs(touch.clientX - gesture.x), Math.abs(touch.clientY - gesture.y)];
      if (Math.max(right, down) < SLOP_PX) return;
      // To the side the page pans, where the terminal is wider.
      if (right > down) {
        this.#forget();
        return;
      }
      clearTimeout(gesture.longPress);
      gesture.kind = "scrolling";
    }
    event.preventDefault();
    if (gesture.kind !== "scrolling") {
      this.#extend(touch, gesture.kind);
      return;
    }
    gesture.speed = gesture.lastY - touch.clientY;
    gesture.lastY = touch.clientY;
    this.#scroll(gesture.speed, gesture);
  }

  #ended(event: TouchEvent): void {
    const gesture = this.#gesture;
    if (gesture === undefined) return;
    clearTimeout(gesture.longPress);
    if (gesture.kind === "resting") {
      this.#forget();
      return;
    }
    // No click follows: it would end the selection.
    event.preventDefault();
    if (gesture.kind === "scrolling") this.#glide(gesture);
  }

  #forget(): void {
    clearTimeout(this.#gesture?.longPress);
    cancelAnimationFrame(this.#frame);
    this.#gesture = undefined;
    this.#restPx = 0;
  }

  #glide(gesture: Gesture): void {
    this.#frame = requestAnimationFrame(() => {
      gesture.speed *= FRICTION;
      if (Math.abs(gesture.speed) < MIN_SPEED_PX || gesture.scrolled !== this.#scrolled) return;
      this.#scroll(gesture.speed, gesture);
      this.#glide(gesture);
    });
  }

  #scroll(px: number, at: { readonly x: number; readonly y: number }): void {
    const height = this.#cellSize.height;
    this.#restPx += px;
    const lines = Math.trunc(this.#restPx / height);
    if (lines === 0) return;
    this.#restPx -= lines * height;
    const scrolled = this.#scrolled;
    if (scrolled === "mouse") this.#wheel(lines, at);
    else if (scrolled === "normal") this.#terminal.scrollLines(lines);
    else this.#type((lines > 0 ? "\x1b[B" : "\x1b[A").repeat(Math.abs(lines)));
  }

  get #scrolled(): Scrolled {
    const { modes, buffer } = this.#terminal;
    return modes.mouseTrackingMode === "none" ? buffer.active.type : "mouse";
  }

  #wheel(lines: number, { x, y }: { readonly x: number; readonly y: number }): void {
    const place = { clientX: x, clientY: y, bubbles: true, cancelable: true };
    for (let count = Math.abs(lines); count > 0; count -= 1) {
      const wheel = new WheelEvent("wheel", {
        ...{ ...place, deltaY: Math.sign(lines), deltaMode: WheelEvent.DOM_DELTA_LINE },
      });
      this.#screen?.dispatchEvent(wheel);
    }
  }

  #select(): void {
    const gesture = this.#gesture;
    if (gesture === undefined) return;
    const cell = this.#cellAt(gesture.x, gesture.y);
    const line = this.#terminal.buffer.active.getLine(cell.row)?.translateToString() ?? "";
    const before = /\S*$/.exec(line.slice(0, cell.col))?.[0].length ?? 0;
    const after = /^\S*/.exec(line.slice(cell.col))?.[0].length ?? 0;
    const selectedFrom = { col: cell.col - before, row: cell.row };
    gesture.kind = { selectedFrom, length: Math.max(1, before + after) };
    this.#terminal.select(selectedFrom.col, selectedFrom.row, gesture.kind.length);
  }

  /** From the word to the finger, in either direction. */
  #extend(
    { clientX, clientY }: { readonly clientX: number; readonly clientY: number },
    { selectedFrom: { col, row }, length }: { readonly selectedFrom: Cell; readonly length: number },
  ): void {
    const { cols } = this.#terminal;
    const cell = this.#cellAt(clientX, clientY);
    const [first, last] = [row * cols + col, row * cols + col + length];
    const finger = cell.row * cols + cell.col;
    const [from, to] = [Math.min(first, finger), Math.max(last, finger + 1)];
    this.#terminal.select(from % cols, Math.floor(from / cols), to - from);
  }

  get #cellSize(): { readonly width: number; readonly height: number } {
    const { width = 0, height = 0 } = this.#screen?.getBoundingClientRect() ?? {};
    return { width: width / this.#terminal.cols, height: height / this.#terminal.rows };
  }

  #cellAt(x: number, y: number): Cell {
    const { left = 0, top = 0 } = this.#screen?.getBoundingClientRect() ?? {};
    const { width, height } = this.#cellSize;
    const { cols, rows, buffer } = this.#terminal;
    const col = Math.min(cols - 1, Math.max(0, Math.floor((x - left) / width)));
    const row = Math.min(rows - 1, Math.max(0, Math.floor((y - top) / height)));
    return { col, row: row + buffer.active.viewportY };
  }
}
