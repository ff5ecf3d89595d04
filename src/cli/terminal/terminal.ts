import { TerminalSize } from "../../protocol/schemas/session.ts";
import type { InputStream, OutputStream } from "../process-context.ts";
import { beforeSignals, onSignals, STOP_SIGNALS, type StopSignal } from "./signals.ts";
import { AlternateScreen, LEAVE_ALTERNATE_SCREEN, PLAIN_MODES } from "./terminal-modes.ts";

/** Buffered output above which `isFull`. */
const HIGH_WATER_BYTES = 4 * 1024 * 1024;

/** The user's terminal, or pipes in its place. */
export class Terminal {
  readonly #input: InputStream;
  readonly #output: OutputStream;
  readonly #alternate = new AlternateScreen();

  constructor(streams: { readonly stdin: InputStream; readonly stdout: OutputStream }) {
    this.#input = streams.stdin;
    this.#output = streams.stdout;
  }

  get isInteractive(): boolean {
    return this.#input.isTTY === true && this.isScreen;
  }

  get isScreen(): boolean {
    return this.#output.isTTY === true;
  }

  /** In cells; `undefined` without a terminal. */
  get size(): TerminalSize | undefined {
    const size = TerminalSize.safeParse({ cols: this.#output.columns, rows: this.#output.rows });
    return this.isScreen && size.success ? size.data : undefined;
  }

  /** Sets raw mode until disposed. After a stop (SIGCONT) it sets raw mode again, because the shell has set its own modes. */
  raw(): Disposable {
    if (!this.isInteractive) return { [Symbol.dispose]: () => undefined };
    const set = (isRaw: boolean): void => void this.#input.setRawMode?.(isRaw);
    set(true);
    const continued = onSignals(["SIGCONT"], () => {
      // Node does not set the mode that it set last.
      set(false);
      set(true);
    });
    return {
      [Symbol.dispose]: () => {
        continued[Symbol.dispose]();
        set(false);
      },
    };
  }

  /**
   * Handles the signals that end a process, so that its modes can be restored. A pipe has none, and its reader may have
   * stopped reading: there they keep their effect, after `ending`.
   */
  onStop(stop: (signal: StopSignal) => void, ending?: () => void): Disposable {
    if (this.isScreen) return onSignals(STOP_SIGNALS, stop);
    return ending === undefined ? { [Symbol.dispose]: () => undefined } : beforeSignals(STOP_SIGNALS, ending);
  }

  /** `ended`: end of a pipe, or the terminal was closed. Disposing lets the process end. */
  onInput(typed: (bytes: Uint8Array) => void, ended: () => void): Disposable {
    this.#input.on("data", typed);
    this.#input.once("end", ended);
    // Reading a closed terminal fails, possibly more than once.
    this.#input.on("error", ended);
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

  /** `error`: a reader such as `head` has left the pipe, or the terminal was closed. */
  onOutput(event: "resize" | "drain" | "error", listener: () => void): Disposable {
    this.#output.on(event, listener);
    return { [Symbol.dispose]: () => void this.#output.off(event, listener) };
  }

  write(text: string): void {
    this.#output.write(text);
  }

  /** Writes the output of a program, which may change modes. */
  show(bytes: Uint8Array): void {
    this.#alternate.shown(bytes);
    this.#output.write(bytes);
  }

  /** Restores the modes that a shell expects. */
  restoreModes(): void {
    if (!this.isScreen) return;
    if (this.#alternate.isActive) this.write(LEAVE_ALTERNATE_SCREEN);
    this.write(PLAIN_MODES);
  }

  /** Whether more output should wait for `drain`. */
  get isFull(): boolean {
    return this.#output.writableLength > HIGH_WATER_BYTES;
  }

  flushed(): Promise<void> {
    return new Promise((resolve) => this.#output.write("", () => resolve()));
  }
}
