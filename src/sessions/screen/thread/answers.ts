import { encodeSnapshot } from "../../../protocol/frame/snapshot.ts";
import { screenCells } from "../terminal/cells.ts";
import type { ScreenTerminal } from "../terminal/terminal.ts";
import { screenText } from "../terminal/text.ts";
import type { Screen, ScreenView } from "./message.ts";

type Answer = Pick<Screen, "text" | "bytes">;

const NOTHING: Answer = { text: "", bytes: new Uint8Array(0) };

/** Ways to see a terminal as it is now; each is made once, however many asked. */
export class ScreenAnswers {
  readonly #terminal: ScreenTerminal;
  readonly #texts = new Map<string, Answer>();
  #drawing: Uint8Array<ArrayBuffer> | undefined;
  #bareDrawing: Uint8Array<ArrayBuffer> | undefined;
  #snapshot: Uint8Array<ArrayBuffer> | undefined;

  constructor(terminal: ScreenTerminal) {
    this.#terminal = terminal;
  }

  get drawing(): Uint8Array<ArrayBuffer> {
    this.#drawing ??= this.#terminal.drawing();
    return this.#drawing;
  }

  get #screenDrawing(): Uint8Array<ArrayBuffer> {
    this.#bareDrawing ??= this.#terminal.screenDrawing(this.drawing);
    return this.#bareDrawing;
  }

  to(view: ScreenView): Answer {
    switch (view.kind) {
      case "resync":
        return { ...NOTHING, bytes: view.isScreenOnly ? this.#screenDrawing : this.drawing };
      case "snapshot":
        this.#snapshot ??= encodeSnapshot(screenCells(this.#terminal));
        return { ...NOTHING, bytes: this.#snapshot };
      case "text": {
        const key = `${view.scrollback} ${view.styles}`;
        const known = this.#texts.get(key) ?? { ...NOTHING, text: screenText(this.#terminal, view) };
        this.#texts.set(key, known);
        return known;
      }
      case "prepare":
        return NOTHING;
    }
  }
}
