import { encodeSnapshot } from "../../../protocol/frame/snapshot.ts";
import { screenCells } from "../terminal/cells.ts";
import type { ScreenTerminal } from "../terminal/terminal.ts";
import { screenText } from "../terminal/text.ts";
import { restoreScreen, saveScreen } from "./checkpoint.ts";
import { isSameSize, type Screen, type ScreenSource, type ScreenView, sizeAt } from "./message.ts";
import { type ParsedScreen, parseOutput } from "./parse.ts";

/** Distance between checkpoints. */
const CHECKPOINT_BYTES = 1024 * 1024;
/** The same when the terminal is dropped. */
const LAST_CHECKPOINT_BYTES = 64 * 1024;
const DRAWING: ScreenView = { kind: "resync", isScreenOnly: false };

type Waiter = PromiseWithResolvers<Screen> & { readonly source: ScreenSource; readonly view: ScreenView };

/** One session's terminal. A round goes to the furthest offset requested before it, so that endless output blocks nobody. */
export class ScreenWork implements Disposable {
  /** Time of the last request, noted by the pool. */
  usedAtMs = 0;
  #waiters: Waiter[] = [];
  #screen: ParsedScreen | undefined;
  /** The source of the last round. */
  #source: ScreenSource | undefined;
  #round: Generator<void> | undefined;

  get isBusy(): boolean {
    return this.#waiters.length > 0;
  }

  /** 0 without a terminal. */
  get cells(): number {
    return this.#screen?.terminal.cells ?? 0;
  }

  view(source: ScreenSource, view: ScreenView): Promise<Screen> {
    const waiter = { ...Promise.withResolvers<Screen>(), source, view };
    this.#waiters.push(waiter);
    return waiter.promise;
  }

  /** About a millisecond of work; the end of a round takes up to 50. */
  step(): void {
    try {
      this.#round ??= this.#advance();
      if (this.#round.next().done === true) this.#round = undefined;
    } catch (error) {
      this.fail(error);
    }
  }

  *#advance(): Generator<void> {
    const sources = this.#waiters.map((waiter) => waiter.source);
    const source = sources.reduce((furthest, each) => (each.upTo >= furthest.upTo ? each : furthest));
    this.#source = source;
    this.#screen ??= restoreScreen(source);
    const screen = this.#screen;
    yield* parseOutput(screen, source);
    const { terminal, size, offset } = screen;
    const isReady = ({ source: { upTo, sizes } }: Waiter): boolean =>
      upTo < offset || (upTo === offset && isSameSize(sizeAt(sizes, offset), size));
    const bytesOf = viewsOf(terminal);
    for (const { view, resolve } of this.#waiters.filter(isReady))
      resolve({ offset, size, bytes: bytesOf(view) });
    this.#waiters = this.#waiters.filter((waiter) => !isReady(waiter));
    if (offset - screen.checkpoint >= CHECKPOINT_BYTES) saveScreen(screen, source, bytesOf(DRAWING));
  }

  /** Rejects all waiters and drops the terminal, which may be in any state. */
  fail(error: unknown): void {
    this.#round?.return(undefined);
    this.#round = undefined;
    this.#screen?.terminal[Symbol.dispose]();
    this.#screen = undefined;
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  /** Drops the terminal, after a checkpoint if parsing again would take long. */
  [Symbol.dispose](): void {
    const screen = this.#round === undefined ? this.#screen : undefined;
    if (screen !== undefined && this.#source !== undefined) {
      const ahead = screen.offset - screen.checkpoint;
      if (ahead >= LAST_CHECKPOINT_BYTES) saveScreen(screen, this.#source, screen.terminal.drawing());
    }
    this.fail(new Error("the screen was given up"));
  }
}

/** Views of a terminal as it is now; each is made once. */
function viewsOf(terminal: ScreenTerminal): (view: ScreenView) => Screen["bytes"] {
  const known = new Map<string, Screen["bytes"]>();
  const bytesOf = (view: ScreenView): Screen["bytes"] => {
    const key = JSON.stringify(view);
    const bytes = known.get(key) ?? make(view);
    known.set(key, bytes);
    return bytes;
  };
  const make = (view: ScreenView): Screen["bytes"] => {
    if (view.kind === "text") return new TextEncoder().encode(screenText(terminal, view));
    if (view.kind === "buffer") return encodeSnapshot(screenCells(terminal));
    return view.isScreenOnly === true ? terminal.screenDrawing(bytesOf(DRAWING)) : terminal.drawing();
  };
  return bytesOf;
}
