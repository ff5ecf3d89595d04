import type { ConnectionState } from "../protocol/client/connection.ts";

/** Starts the session host again when it is gone; its sessions have ended then, new ones must still be possible. */
export class HostKeeper implements Disposable {
  readonly #watching: Disposable;
  readonly #ensure: () => Promise<unknown>;
  readonly #onFailure: (error: unknown) => void;
  readonly #wake: () => void;
  #isTrying = false;

  constructor(options: {
    readonly sessions: { onState(listener: (state: ConnectionState) => void): Disposable; wake(): void };
    readonly ensure: () => Promise<unknown>;
    readonly onFailure: (error: unknown) => void;
  }) {
    this.#ensure = options.ensure;
    this.#onFailure = options.onFailure;
    this.#wake = () => options.sessions.wake();
    this.#watching = options.sessions.onState((state) => {
      if (state.kind === "waiting") void this.#try();
    });
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }

  async #try(): Promise<void> {
    if (this.#isTrying) return;
    this.#isTrying = true;
    try {
      await this.#ensure();
      this.#wake();
    } catch (error) {
      this.#onFailure(error);
    } finally {
      this.#isTrying = false;
    }
  }
}
