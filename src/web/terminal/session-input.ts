// Sends input to the program at once, keeps it while the session opens, or visibly refuses it.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { SessionSocket } from "../../protocol/client/session-socket.ts";
import type { Reachability } from "./reachability.ts";
import { TypeAhead } from "./type-ahead.ts";

/** Input is shown as pending after this time without an acknowledgement. */
const PENDING_MS = 2_000;

export type SessionInputOptions = {
  readonly id: string;
  readonly socket: Pick<SessionSocket, "state" | "write">;
  readonly reachability: Reachability;
  readonly isRunning: () => boolean;
  readonly onError: (error: unknown) => void;
};

export class SessionInput implements Disposable {
  readonly #options: SessionInputOptions;
  readonly #typeAhead: TypeAhead;
  readonly #isPending = signal(false);
  /** Whether sent input has not been acknowledged for 2 s. */
  readonly isPending: ReadonlySignal<boolean> = this.#isPending;
  #unacknowledged = 0;
  #pendingTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SessionInputOptions) {
    this.#options = options;
    this.#typeAhead = new TypeAhead(() => options.reachability.refuse());
  }

  type(bytes: Uint8Array): void {
    const { reachability } = this.#options;
    if (this.#canSend) void this.#send(bytes);
    else if (reachability.isMachineGone || !this.#typeAhead.keep(bytes)) reachability.refuse();
  }

  /** Must be called whenever the session may have opened: sends the input typed ahead. */
  opened(): void {
    if (!this.#canSend) return;
    for (const bytes of this.#typeAhead.end()) void this.#send(bytes);
  }

  /** The session has opened, but the user may only watch it: drops the input typed ahead. */
  watching(): void {
    this.#typeAhead.end();
  }

  [Symbol.dispose](): void {
    this.#typeAhead[Symbol.dispose]();
    clearTimeout(this.#pendingTimer);
  }

  get #canSend(): boolean {
    const { isRunning, socket, reachability } = this.#options;
    return isRunning() && socket.state.kind === "open" && !reachability.isMachineGone;
  }

  async #send(bytes: Uint8Array): Promise<void> {
    const { id, socket, reachability, onError } = this.#options;
    this.#unacknowledged += 1;
    if (this.#unacknowledged === 1) this.#watch();
    try {
      await socket.write(id, bytes);
      reachability.reached();
    } catch (error) {
      onError(error);
      if (reachability.isUnreachable.peek()) reachability.refuse();
    }
    this.#unacknowledged -= 1;
    this.#watch();
  }

  /** Starts now if input is waiting. */
  #watch(): void {
    clearTimeout(this.#pendingTimer);
    this.#isPending.value = false;
    if (this.#unacknowledged === 0) return;
    this.#pendingTimer = setTimeout(() => {
      this.#isPending.value = true;
    }, PENDING_MS);
  }
}
