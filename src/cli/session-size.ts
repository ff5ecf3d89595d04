import { ServiceError } from "../protocol/errors.ts";
import type { SessionSocket } from "../protocol/session-socket.ts";
import type { Terminal } from "./terminal.ts";

export type SessionSizeOptions = {
  readonly socket: Pick<SessionSocket, "resize">;
  readonly terminal: Terminal;
  readonly sessionId: string;
  /** The session was just made with the terminal's size. */
  readonly isSized: boolean;
  /** Whoever only looks leaves the size alone. */
  readonly isReadOnly: boolean;
};

/** Gives the session the size of the user's terminal: at the beginning and whenever that changes. */
export class SessionSize implements Disposable {
  readonly #options: SessionSizeOptions;
  readonly #listening: Disposable;
  /** What was asked for last, answered or not; undefined where it was not taken. */
  #sent: string | undefined;

  constructor(options: SessionSizeOptions) {
    this.#options = options;
    if (options.isSized) this.#sent = this.#current;
    this.#listening = options.terminal.onResize(() => this.sendChanged());
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }

  /** Rejects where the server refuses; an ended session keeps the size that it had. */
  async send(): Promise<void> {
    const { terminal, socket, sessionId, isReadOnly } = this.#options;
    const size = terminal.size;
    if (size === undefined || isReadOnly) return;
    const current = this.#current;
    this.#sent = current;
    try {
      await socket.resize(sessionId, size);
    } catch (error) {
      if (this.#sent === current) this.#sent = undefined;
      if (!(error instanceof ServiceError) || error.code !== "session_not_running") throw error;
    }
  }

  /** Sends a size that the session does not have yet; without a link it is sent with the next one. */
  sendChanged(): void {
    if (this.#current !== this.#sent) this.send().catch(() => undefined);
  }

  get #current(): string {
    return JSON.stringify(this.#options.terminal.size);
  }
}
