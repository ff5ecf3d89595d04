import { encodeSnapshot } from "../../../protocol/frame/snapshot.ts";
import { screenCells } from "../terminal/cells.ts";
import type { ScreenTerminal } from "../terminal/terminal.ts";
import { screenText } from "../terminal/text.ts";
import { isSameSize, type Screen, type ScreenSource, type ScreenView, sizeAt } from "./message.ts";
import { type ParsedScreen, ScreenParse } from "./parse.ts";

/** Distance between checkpoints. */
const CHECKPOINT_BYTES = 1024 * 1024;
/** The same when the terminal is dropped. */
const LAST_CHECKPOINT_BYTES = 64 * 1024;

export type ScreenWaiter = {
  readonly source: ScreenSource;
  readonly view: ScreenView;
  readonly answer: (screen: Screen) => void;
  readonly fail: (error: unknown) => void;
};

/**
 * The terminal of one session and its waiters. A round goes to the furthest offset requested before it began; later
 * requests wait for the next one, so that endless output blocks nobody.
 */
export class ScreenWork implements Disposable {
  #waiters: ScreenWaiter[] = [];
  #round: ScreenParse | undefined;
  #kept: { readonly screen: ParsedScreen; readonly source: ScreenSource } | undefined;

  get isBusy(): boolean {
    return this.#waiters.length > 0;
  }

  /** Of the terminal; 0 when there is none. */
  get cells(): number {
    return (this.#round?.screen ?? this.#kept?.screen)?.terminal.cells ?? 0;
  }

  add(waiter: ScreenWaiter): void {
    this.#waiters.push(waiter);
  }

  /** About a millisecond of work; the end of a round takes up to 50. */
  step(): void {
    try {
      this.#round ??= this.#begin();
      if (this.#round.step()) this.#finish(this.#round);
    } catch (error) {
      this.fail(error);
    }
  }

  #begin(): ScreenParse {
    const [first, ...others] = this.#waiters.map((waiter) => waiter.source);
    if (first === undefined) throw new Error("nobody waits for the screen");
    const source = others.reduce((furthest, each) => (each.upTo >= furthest.upTo ? each : furthest), first);
    const round = new ScreenParse(source, this.#kept?.screen);
    this.#kept = undefined;
    return round;
  }

  #finish(round: ScreenParse): void {
    const { terminal, size, offset } = round.screen;
    const isReady = ({ source }: ScreenWaiter): boolean =>
      source.upTo < offset || (source.upTo === offset && isSameSize(sizeAt(source.sizes, offset), size));
    const ready = this.#waiters.filter(isReady);
    const answers = new ScreenAnswers(terminal);
    for (const { view, answer } of ready) answer({ offset, size, ...answers.to(view) });
    this.#waiters = this.#waiters.filter((waiter) => !ready.includes(waiter));
    const isAsked = ready.some(({ view }) => view.kind === "prepare");
    const ahead = offset - round.screen.checkpoint;
    if (ahead >= (isAsked ? LAST_CHECKPOINT_BYTES : CHECKPOINT_BYTES)) round.save(answers.drawing);
    this.#kept = { screen: round.screen, source: round.source };
    this.#round = undefined;
    round[Symbol.dispose]();
  }

  /** Rejects all waiters and drops the terminal, which may be in any state. */
  fail(error: unknown): void {
    this.#round?.screen.terminal[Symbol.dispose]();
    this.#round?.[Symbol.dispose]();
    this.#round = undefined;
    this.#kept?.screen.terminal[Symbol.dispose]();
    this.#kept = undefined;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.fail(error);
  }

  /** Drops the terminal, after a checkpoint if parsing again would take long. */
  [Symbol.dispose](): void {
    const kept = this.#kept;
    if (kept !== undefined && kept.screen.offset - kept.screen.checkpoint >= LAST_CHECKPOINT_BYTES) {
      try {
        using parse = new ScreenParse({ ...kept.source, upTo: kept.screen.offset }, kept.screen);
        parse.save(parse.screen.terminal.drawing());
      } catch {
        // The session was removed meanwhile.
      }
    }
    this.fail(new Error("the screen was given up"));
  }
}

type Answer = Pick<Screen, "text" | "bytes">;

const NOTHING: Answer = { text: "", bytes: new Uint8Array(0) };

/** Views of a terminal as it is now; each is made once. */
export class ScreenAnswers {
  readonly #terminal: ScreenTerminal;
  readonly #known = new Map<string, Answer>();

  constructor(terminal: ScreenTerminal) {
    this.#terminal = terminal;
  }

  get drawing(): Uint8Array<ArrayBuffer> {
    return this.to({ kind: "resync", isScreenOnly: false }).bytes;
  }

  to(view: ScreenView): Answer {
    const key = JSON.stringify(view);
    const answer = this.#known.get(key) ?? { ...NOTHING, ...this.#make(view) };
    this.#known.set(key, answer);
    return answer;
  }

  #make(view: ScreenView): Partial<Answer> {
    const terminal = this.#terminal;
    switch (view.kind) {
      case "resync":
        return { bytes: view.isScreenOnly ? terminal.screenDrawing(this.drawing) : terminal.drawing() };
      case "snapshot":
        return { bytes: encodeSnapshot(screenCells(terminal)) };
      case "text":
        return { text: screenText(terminal, view) };
      case "prepare":
        return NOTHING;
    }
  }
}
