import type { TerminalSize } from "../../../../src/protocol/schemas/session.ts";
import { ScreenTerminal } from "../../../../src/sessions/screen/terminal/terminal.ts";
import { screenText } from "../../../../src/sessions/screen/terminal/text.ts";

/** The screen that a viewer sees: a terminal emulator with 1,000 lines of scrollback. */
export class TerminalView implements Disposable {
  #terminal: ScreenTerminal;

  constructor(size: TerminalSize) {
    this.#terminal = new ScreenTerminal(size);
  }

  get size(): TerminalSize {
    return this.#terminal.size;
  }

  /** The rows, joined by line feeds, without trailing spaces and trailing blank rows. */
  get text(): string {
    return screenText(this.#terminal, { scrollback: false, styles: false });
  }

  /** The same with the scrollback before it. */
  get textWithScrollback(): string {
    return screenText(this.#terminal, { scrollback: true, styles: false });
  }

  /** Counted from 0. */
  get cursor(): { readonly column: number; readonly row: number } {
    const { x, y } = this.#terminal.core.buffers.active;
    return { column: x, row: y };
  }

  write(bytes: Uint8Array): void {
    this.#terminal.write(bytes);
  }

  resize(size: TerminalSize): void {
    this.#terminal.resize(size);
  }

  /** Resets the emulator. */
  reset(size: TerminalSize): void {
    this.#terminal[Symbol.dispose]();
    this.#terminal = new ScreenTerminal(size);
  }

  [Symbol.dispose](): void {
    this.#terminal[Symbol.dispose]();
  }
}
