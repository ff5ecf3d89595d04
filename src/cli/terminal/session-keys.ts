// The input side of the user's terminal while a session is shown on it.
import { DETACH_WINDOW_MS, type DetachKeys, DetachScanner, hasCtrlC } from "./detach-keys.ts";
import type { Terminal } from "./terminal.ts";

/** Unconfirmed input; over that no more is read. Of a pipe each piece is confirmed before the next one, so that none is lost. */
const MAX_UNANSWERED_BYTES = { keys: 256 * 1024, pipe: 0 };
const CTRL_D = 0x04;
const LINE_FEED = 0x0a;

export type SessionKeysOptions = {
  readonly terminal: Terminal;
  readonly detachKeys: DetachKeys;
  /** Input is dropped, and ctrl-c detaches as well. */
  readonly isReadOnly: boolean;
  /** Meaning of the end of a pipe: ctrl-d, or detaching. */
  readonly inputEnd: "eof" | "detach";
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly detach: () => void;
  readonly refused: (error: unknown) => void;
};

export class SessionKeys implements Disposable {
  readonly #options: SessionKeysOptions;
  readonly #scanner: DetachScanner;
  readonly #input: Disposable;
  readonly #maxUnanswered: number;
  #unanswered = 0;
  #last = LINE_FEED;
  #release: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SessionKeysOptions) {
    this.#options = options;
    const { isInteractive } = options.terminal;
    this.#scanner = new DetachScanner(isInteractive ? options.detachKeys : { keys: [] });
    this.#maxUnanswered = MAX_UNANSWERED_BYTES[isInteractive ? "keys" : "pipe"];
    this.#input = options.terminal.onInput(
      (bytes) => this.#typed(bytes),
      () => this.#ended(),
    );
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#release);
    this.#input[Symbol.dispose]();
  }

  #typed(bytes: Uint8Array): void {
    clearTimeout(this.#release);
    const { pass, isDetached } = this.#scanner.scan(bytes);
    this.#send(pass);
    if (isDetached || (this.#options.isReadOnly && hasCtrlC(pass))) this.#options.detach();
    else if (this.#scanner.isHolding) {
      this.#release = setTimeout(() => this.#send(this.#scanner.release()), DETACH_WINDOW_MS);
    }
  }

  #send(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#options.isReadOnly) return;
    this.#last = bytes.at(-1) ?? LINE_FEED;
    this.#unanswered += bytes.length;
    if (this.#unanswered > this.#maxUnanswered) this.#options.terminal.pauseInput();
    this.#options
      .write(bytes)
      .catch(this.#options.refused)
      .finally(() => this.#answered(bytes.length));
  }

  #answered(count: number): void {
    const wasPaused = this.#unanswered > this.#maxUnanswered;
    this.#unanswered -= count;
    if (wasPaused && this.#unanswered <= this.#maxUnanswered) this.#options.terminal.resumeInput();
  }

  #ended(): void {
    const { isReadOnly, inputEnd, terminal, detach } = this.#options;
    if (isReadOnly || inputEnd === "detach" || terminal.isInteractive) detach();
    // In the middle of a line the first ctrl-d only submits the line.
    else this.#send(Uint8Array.from(this.#last === LINE_FEED ? [CTRL_D] : [CTRL_D, CTRL_D]));
  }
}
