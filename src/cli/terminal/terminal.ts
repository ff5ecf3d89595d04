import { TerminalSize } from "../../protocol/schemas/session.ts";
import type { InputStream, OutputStream } from "../process-context.ts";

/** Output that may wait for the terminal. */
const HIGH_WATER_BYTES = 4 * 1024 * 1024;

/** The terminal that the command was started in, or the pipes in its place. */
export class Terminal {
  readonly #input: InputStream;
  readonly #output: OutputStream;

  constructor(streams: { readonly stdin: InputStream; readonly stdout: OutputStream }) {
    this.#input = streams.stdin;
    this.#output = streams.stdout;
  }

  get isInteractive(): boolean {
    return this.#input.isTTY === true && this.isScreen;
  }

  /** Whether somebody looks at the output. */
  get isScreen(): boolean {
    return this.#output.isTTY === true;
  }

  /** In cells; `undefined` where the output is no terminal or does not know. */
  get size(): TerminalSize | undefined {
    const size = TerminalSize.safeParse({ cols: this.#output.columns, rows: this.#output.rows });
    return this.isScreen && size.success ? size.data : undefined;
  }

  /** Every key comes as it is typed, and none means anything to the terminal; until disposed. */
  raw(): Disposable {
    if (!this.isInteractive) return { [Symbol.dispose]: () => undefined };
    this.#input.setRawMode?.(true);
    return { [Symbol.dispose]: () => void this.#input.setRawMode?.(false) };
  }

  /** `ended` is called when a pipe has no more input or the terminal is gone. Disposing lets the process end. */
  onInput(typed: (bytes: Uint8Array) => void, ended: () => void): Disposable {
    this.#input.on("data", typed);
    this.#input.once("end", ended);
    // A terminal that is closed fails to be read; that may be told more than once.
    const failed = (): void => ended();
    this.#input.on("error", failed);
    return {
      [Symbol.dispose]: () => {
        this.#input.off("data", typed);
        this.#input.off("end", ended);
        this.#input.pause();
      },
    };
  }

  pauseInput(): void {
    this.#input.pause();
  }

  resumeInput(): void {
    this.#input.resume();
  }

  onResize(listener: () => void): Disposable {
    this.#output.on("resize", listener);
    return { [Symbol.dispose]: () => void this.#output.off("resize", listener) };
  }

  /** Called when output that had filled up has left. */
  onDrained(listener: () => void): Disposable {
    this.#output.on("drain", listener);
    return { [Symbol.dispose]: () => void this.#output.off("drain", listener) };
  }

  write(data: string | Uint8Array): void {
    this.#output.write(data);
  }

  /** Whether more output should wait for `onDrained`. */
  get isFull(): boolean {
    return this.#output.writableLength > HIGH_WATER_BYTES;
  }

  /** Resolves when all that was written has left the process. */
  flushed(): Promise<void> {
    return new Promise((resolve) => this.#output.write("", () => resolve()));
  }
}
