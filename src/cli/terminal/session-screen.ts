// The output side of the user's terminal while a session is shown on it.

import type { Client } from "../../protocol/client/client.ts";
import { isFinal } from "../../protocol/client/link.ts";
import type { Attachment, SessionSocket } from "../../protocol/client/session-socket.ts";
import type { ServiceError } from "../../protocol/errors.ts";
import type { Resync } from "../../protocol/frame/resync.ts";
import { clipped } from "../text.ts";
import type { Terminal } from "./terminal.ts";
import { CLEAR_SCREEN, erasedRow, statusRow } from "./terminal-modes.ts";

type SessionScreenOptions = {
  readonly socket: Pick<SessionSocket, "attach">;
  readonly client: Pick<Client, "resync">;
  readonly terminal: Terminal;
  readonly sessionId: string;
  readonly exited: (exitCode: number) => void;
  /** The server no longer shows this session. */
  readonly refused: (error: ServiceError) => void;
};

/** A slow terminal pauses the server; at most HIGH_WATER_BYTES and one frame wait here. */
export class SessionScreen implements Disposable {
  readonly #options: SessionScreenOptions;
  readonly #terminal: Terminal;
  readonly #draining: Disposable;
  #attachment: Attachment | undefined;
  #hasStatus = false;
  #isLeft = false;

  constructor(options: SessionScreenOptions) {
    this.#options = options;
    this.#terminal = options.terminal;
    this.#draining = this.#terminal.onOutput("drain", () => this.#attachment?.resume());
  }

  get hasStatus(): boolean {
    return this.#hasStatus;
  }

  follow(from: number): void {
    this.#attachment?.[Symbol.dispose]();
    this.#attachment = this.#options.socket.attach(
      this.#options.sessionId,
      { from },
      {
        onOutput: ({ bytes }) => this.#show(bytes),
        onResync: (resync) => this.#paint(resync),
        onEvent: (event) => {
          if (event.kind === "exit") this.#options.exited(event.exitCode);
        },
        onError: (error) => {
          if (isFinal(error)) this.#options.refused(error);
        },
      },
    );
  }

  /** Draws the session's screen as it is now and follows from there. Rejects with the server's error. */
  async draw(): Promise<void> {
    const resync = await this.#options.client.resync(this.#options.sessionId);
    if (this.#isLeft) return;
    this.#paint(resync);
    this.follow(resync.offset);
  }

  /** Shows text on the last row until `redraw`. */
  showStatus(text: string): void {
    const size = this.#terminal.size;
    if (size === undefined || this.#isLeft) return;
    this.#hasStatus = true;
    // A longer text would scroll the screen.
    this.#terminal.write(statusRow(clipped(text, size.cols), size.rows));
  }

  async redraw(): Promise<void> {
    if (!this.#hasStatus) return;
    this.#hasStatus = false;
    try {
      await this.draw();
    } catch {
      if (!this.#isLeft) this.#eraseStatus();
    }
  }

  [Symbol.dispose](): void {
    this.#isLeft = true;
    this.#draining[Symbol.dispose]();
    this.#attachment?.[Symbol.dispose]();
    if (!this.#terminal.isScreen) return;
    if (this.#hasStatus) this.#eraseStatus();
    this.#terminal.restoreModes();
  }

  #eraseStatus(): void {
    this.#terminal.write(erasedRow(this.#terminal.size?.rows ?? 1));
  }

  #show(bytes: Uint8Array): void {
    this.#terminal.show(bytes);
    if (this.#terminal.isFull) this.#attachment?.pause();
  }

  #paint({ bytes }: Resync): void {
    this.#terminal.restoreModes();
    if (this.#terminal.isScreen) this.#terminal.write(CLEAR_SCREEN);
    this.#show(bytes);
  }
}
