import { RetryTimer } from "../../lib/async/retry-timer.ts";
import { asServiceError, isFinal } from "../../protocol/client/link.ts";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { sizeText, type TerminalSize } from "../../protocol/schemas/session.ts";
import type { Terminal } from "./terminal.ts";

/** Behind an HQ a remote may be down while the connection is up, and no event reports its return. */
const RETRY_MS = 1_000;

type SessionSizeOptions = {
  readonly socket: Pick<SessionSocket, "resize">;
  readonly terminal: Terminal;
  readonly sessionId: string;
  /** The size that the session was created with from this terminal, which may have been resized since. */
  readonly created: TerminalSize | undefined;
  readonly isReadOnly: boolean;
};

export class SessionSize implements Disposable {
  readonly #options: SessionSizeOptions;
  readonly #listening: Disposable;
  /** The last requested size; undefined after a refusal. */
  #sent: string | undefined;
  readonly #retry = new RetryTimer({ firstMs: RETRY_MS, maxMs: RETRY_MS, retry: () => this.sendChanged() });

  constructor(options: SessionSizeOptions) {
    this.#options = options;
    this.#sent = options.created && sizeText(options.created);
    this.#listening = options.terminal.onOutput("resize", () => this.sendChanged());
  }

  [Symbol.dispose](): void {
    this.#retry[Symbol.dispose]();
    this.#listening[Symbol.dispose]();
  }

  /** Rejects if the server refuses; an ended session keeps its size. */
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

  sendChanged(): void {
    if (this.#current === this.#sent) return;
    this.send().catch((error: unknown) => {
      if (!isFinal(asServiceError(error))) this.#retry.start();
    });
  }

  get #current(): string | undefined {
    const { size } = this.#options.terminal;
    return size && sizeText(size);
  }
}
