import { ServiceError } from "../protocol/errors.ts";

/** Whether new requests should come to this process: what load balancers ask. It may be alive and not ready. */
export class Readiness {
  readonly #isServing: () => boolean;
  readonly #leave: () => void;
  #isDraining = false;

  /**
   * `isServing`: whether what has the sessions can be reached. `leave`: the process is about to stop, and what ends from
   * now on is not to be started again.
   */
  constructor(parts: { readonly isServing?: () => boolean; readonly leave?: () => void } = {}) {
    this.#isServing = parts.isServing ?? (() => true);
    this.#leave = parts.leave ?? (() => undefined);
  }

  /** From now on, and for good, nothing new should come. */
  drain(): void {
    this.#isDraining = true;
    this.#leave();
  }

  /** Throws `shutting_down` or `host_unreachable`; `details.status` says which in one word. Asks nobody. */
  check(): void {
    if (this.#isDraining) {
      throw new ServiceError("shutting_down", "the server is shutting down", {
        details: { status: "draining" },
      });
    }
    if (this.#isServing()) return;
    throw new ServiceError("host_unreachable", "there is no connection to the session host", {
      details: { status: "no_session_host" },
    });
  }
}
