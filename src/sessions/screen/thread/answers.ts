import { encodeSnapshot } from "../../../protocol/frame/snapshot.ts";
import { screenCells } from "../terminal/cells.ts";
import type { ScreenTerminal } from "../terminal/terminal.ts";
import { screenText } from "../terminal/text.ts";
import type { Screen, ScreenView } from "./message.ts";

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
