// A terminal emulator that shows a session's output, as a person sees it.
import headless from "@xterm/headless";
import { decodeOutput, type Frame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import type { TerminalSize } from "../../../src/protocol/schemas/session.ts";

export class Emulator implements Disposable {
  readonly #terminal: headless.Terminal;

  constructor({ cols, rows }: TerminalSize = { cols: 80, rows: 24 }) {
    this.#terminal = new headless.Terminal({ cols, rows, scrollback: 1_000, allowProposedApi: true });
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(bytes, resolve));
  }

  /** Handles frames like a client with offsets; ignores other types. */
  async take(frames: readonly Frame[]): Promise<void> {
    for (const { type, payload } of frames) {
      if (type === FrameType.OUTPUT) await this.write(decodeOutput(payload).bytes);
      if (type !== FrameType.RESYNC) continue;
      const { size, bytes } = decodeResync(payload);
      this.#terminal.reset();
      this.#terminal.resize(size.cols, size.rows);
      await this.write(bytes);
    }
  }

  /** Every line with its scrollback, and the cursor. */
  get seen(): { readonly lines: readonly string[]; readonly cursor: readonly [number, number] } {
    const { active } = this.#terminal.buffer;
    const lines = Array.from(
      { length: active.length },
      (_, row) => active.getLine(row)?.translateToString(true) ?? "",
    );
    return { lines, cursor: [active.cursorX, active.cursorY] };
  }

  [Symbol.dispose](): void {
    this.#terminal.dispose();
  }
}
