// Touch input, which xterm.js 6.0 does not support. A moving finger scrolls, with momentum. If the terminal is larger
// than its pane it pans; otherwise a sideways swipe calls back. A resting finger selects the word under it, and more as
// it moves. Two fingers pinch.
import type { Terminal } from "@xterm/xterm";

/** Less movement than this counts as resting. */
const SLOP_PX = 8;
const LONG_PRESS_MS = 450;
/** Minimum length of a swipe. */
const SWIPE_PX = 70;
/** The rest of the speed after each frame of momentum. */
const FRICTION = 0.95;
const MIN_SPEED_PX = 0.5;

type Cell = { readonly col: number; readonly row: number };
/** The scroll target: a program with mouse support, the output with its scrollback, or a full-screen program. */
type Scrolled = "mouse" | "normal" | "alternate";
type Gesture = {
  readonly x: number;
  readonly y: number;
  readonly longPress: ReturnType<typeof setTimeout>;
  /** The current scroll target: momentum ends when it changes. */
  readonly scrolled: Scrolled;
  /** The last position of the finger, and its last vertical movement. */
  lastX: number;
  lastY: number;
  speed: number;
  kind:
    | "resting"
    | "scrolling"
    | "swiping"
    | { readonly selectedFrom: Cell; readonly length: number }
    | { readonly pinchedFromPx: number; scale: number };
};

/** Moves to the next or previous session. */
export type SwipeDirection = 1 | -1;

export type TouchOptions = {
  readonly terminal: Terminal;
  /** Sends input like typed keys. */
  readonly type: (text: string) => void;
  /** xterm.js 6.0 does not report a selection that was cleared and is made again. */
  readonly onSelect: () => void;
  readonly onSwipe: (direction: SwipeDirection) => void;
  /** `scale`: the fingers' distance relative to the start of the gesture. `isOver`: they are lifted. */
  readonly onPinch: (scale: number, isOver: boolean) => void;
};

export class TouchInput implements Disposable {
  readonly #options: TouchOptions;
  readonly #terminal: Terminal;
  readonly #stop = new AbortController();
  #pane: HTMLElement | undefined;
  #screen: HTMLElement | undefined;
  #gesture: Gesture | undefined;
  /** Moved distance that is not scrolled yet: less than a line. */
  #restPx = 0;
  #frame = 0;

  constructor(options: TouchOptions) {
    this.#options = options;
    this.#terminal = options.terminal;
  }

  /** Must be called once the terminal is in its element, which scrolls if the terminal is larger. */
  open(element: HTMLElement): void {
    this.#pane = element;
    this.#screen = element.querySelector<HTMLElement>(".xterm-screen") ?? element;
    const options = { signal: this.#stop.signal, passive: false };
    element.addEventListener("touchstart", (event) => this.#began(event), options);
    element.addEventListener("touchmove", (event) => this.#moved(event), options);
    element.addEventListener("touchend", (event) => this.#ended(event), options);
    element.addEventListener("touchcancel", () => this.#cancel(), options);
    // The browser's menu for a long press would cover the selection.
    element.addEventListener("contextmenu", (event) => this.#gesture && event.preventDefault(), options);
  }

  [Symbol.dispose](): void {
    this.#forget();
    this.#stop.abort();
  }

  #began(event: TouchEvent): void {
    this.#cancel();
    const [touch, second] = event.touches;
    if (touch === undefined || event.touches.length > 2) return;
    const { clientX: x, clientY: y } = touch;
    const at = { x, y, lastX: x, lastY: y, speed: 0, scrolled: this.#scrolled };
    const longPress = setTimeout(() => this.#select(), LONG_PRESS_MS);
    this.#gesture = { ...at, longPress, kind: "resting" };
    if (second === undefined) return;
    clearTimeout(longPress);
    this.#gesture.kind = { pinchedFromPx: distance(touch, second), scale: 1 };
  }

  #moved(event: TouchEvent): void {
    const gesture = this.#gesture;
    const [touch, second] = event.touches;
    if (gesture === undefined || touch === undefined) return;
    if (gesture.kind === "resting" && !this.#hasSetOff(gesture, touch)) return;
    event.preventDefault();
    if (gesture.kind === "scrolling") this.#drag(gesture, touch);
    else if (typeof gesture.kind === "object" && "selectedFrom" in gesture.kind)
      this.#extend(touch, gesture.kind);
    else if (typeof gesture.kind === "object" && second !== undefined) {
      gesture.kind.scale = distance(touch, second) / gesture.kind.pinchedFromPx;
      this.#pinch(gesture.kind.scale, touch, second);
    }
    gesture.lastX = touch.clientX;
    gesture.lastY = touch.clientY;
  }

  /** Whether the finger has moved; then its direction decides the gesture. */
  #hasSetOff(gesture: Gesture, { clientX, clientY }: Touch): boolean {
    const [right, down] = [Math.abs(clientX - gesture.x), Math.abs(clientY - gesture.y)];
    if (Math.max(right, down) < SLOP_PX) return false;
    clearTimeout(gesture.longPress);
    const { scrollWidth = 0, clientWidth = 0 } = this.#pane ?? {};
    gesture.kind = right > down && scrollWidth <= clientWidth ? "swiping" : "scrolling";
    return true;
  }

  /** Pans the terminal in its pane, and scrolls its content with the rest. */
  #drag(gesture: Gesture, { clientX, clientY }: Touch): void {
    const down = gesture.lastY - clientY;
    const before = this.#pane?.scrollTop ?? 0;
    this.#pane?.scrollBy(gesture.lastX - clientX, down);
    gesture.speed = down - ((this.#pane?.scrollTop ?? 0) - before);
    this.#scroll(gesture.speed, gesture);
  }

  /** The point between the fingers keeps its place. */
  #pinch(scale: number, one: Touch, other: Touch): void {
    const before = this.#screen?.getBoundingClientRect();
    this.#options.onPinch(scale, false);
    const after = this.#screen?.getBoundingClientRect();
    if (before === undefined || after === undefined || before.width === 0) return;
    const grown = after.width / before.width - 1;
    const [x, y] = [(one.clientX + other.clientX) / 2, (one.clientY + other.clientY) / 2];
    this.#pane?.scrollBy((x - before.left) * grown, (y - before.top) * grown);
  }

  #ended(event: TouchEvent): void {
    const gesture = this.#gesture;
    if (gesture === undefined) return;
    clearTimeout(gesture.longPress);
    this.#gesture = undefined;
    if (gesture.kind === "resting") return;
    // Suppresses the click that would end the selection.
    event.preventDefault();
    if (gesture.kind === "scrolling") this.#glide(gesture);
    else if (gesture.kind === "swiping") this.#swipe(gesture);
    else if ("pinchedFromPx" in gesture.kind) this.#options.onPinch(gesture.kind.scale, true);
  }

  #swipe({ x, y, lastX, lastY }: Gesture): void {
    const right = lastX - x;
    if (Math.abs(right) < SWIPE_PX || Math.abs(right) < 2 * Math.abs(lastY - y)) return;
    this.#options.onSwipe(right < 0 ? 1 : -1);
  }

  /** An unfinished pinch changes nothing. */
  #cancel(): void {
    const kind = this.#gesture?.kind;
    if (typeof kind === "object" && "pinchedFromPx" in kind) this.#options.onPinch(1, false);
    this.#forget();
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
    else this.#options.type((lines > 0 ? "\x1b[B" : "\x1b[A").repeat(Math.abs(lines)));
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
    const { col, row } = this.#cellAt(gesture.x, gesture.y);
    const line = this.#terminal.buffer.active.getLine(row);
    const isInWord = (at: number): boolean => {
      const cell = line?.getCell(at);
      // The second half of a wide character has no text and no width.
      return cell !== undefined && (cell.getWidth() === 0 || cell.getChars().trim() !== "");
    };
    let [first, after] = [col, col];
    while (isInWord(first - 1)) first -= 1;
    while (isInWord(after)) after += 1;
    gesture.kind = { selectedFrom: { col: first, row }, length: Math.max(1, after - first) };
    this.#selectFrom(row * this.#terminal.cols + first, gesture.kind.length);
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
    this.#selectFrom(from, to - from);
  }

  /** `from`: counted in cells from the beginning of the scrollback. */
  #selectFrom(from: number, length: number): void {
    const { cols } = this.#terminal;
    this.#terminal.select(from % cols, Math.floor(from / cols), length);
    this.#options.onSelect();
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

function distance(one: Touch, other: Touch): number {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
}
