import { ServiceError } from "../protocol/errors.ts";

/** Whether a load balancer should send new requests to this process. */
export class Readiness {
  readonly #isServing: () => boolean;
  readonly #leave: () => void;
  #isDraining = false;

  /** `isServing`: the session host is reachable. `leave`: it is not started again, since this process is about to stop. */
  constructor(parts: { readonly isServing?: () => boolean; readonly leave?: () => void } = {}) {
    this.#isServing = parts.isServing ?? (() => true);
    this.#leave = parts.leave ?? (() => undefined);
  }

  drain(): void {
    this.#isDraining = true;
    this.#leave();
  }

  /** Throws `shutting_down` or `host_unreachable`, with the reason in `details.status`. */
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
