import type { ConnectionState } from "../../protocol/client/connection.ts";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import type { ServiceError } from "../../protocol/errors.ts";

/** Shorter interruptions are not reported: nothing was lost. */
const QUIET_MS = 1_000;

export type LinkNoticeOptions = {
  readonly socket: Pick<SessionSocket, "onState" | "state">;
  /** The connection is lost for longer than QUIET_MS. */
  readonly lost: () => void;
  readonly restored: () => void;
  /** For good. */
  readonly closed: (error: ServiceError | undefined) => void;
};

/** Decides when the user is told about the connection. */
export class LinkNotice implements Disposable {
  readonly #options: LinkNoticeOptions;
  readonly #listening: Disposable;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LinkNoticeOptions) {
    this.#options = options;
    const { socket } = options;
    this.#listening = socket.onState((state) => this.#changed(state));
    // The connection may have been lost before.
    if (socket.state.kind !== "open") this.#changed(socket.state);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#listening[Symbol.dispose]();
  }

  #changed(state: ConnectionState): void {
    if (state.kind === "open" || state.kind === "closed") {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (state.kind === "open") this.#options.restored();
      else this.#options.closed(state.error);
    } else if (state.isPlanned !== true) {
      this.#timer ??= setTimeout(this.#options.lost, QUIET_MS);
    }
  }
}
