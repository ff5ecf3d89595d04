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

  /** Why requests should not come here: `shutting_down` or `host_unreachable`, with the reason in `details.status`. */
  get problem(): ServiceError | undefined {
    if (this.#isDraining) {
      const details = { status: "draining" };
      return new ServiceError("shutting_down", "the server is shutting down", { details });
    }
    if (this.#isServing()) return undefined;
    const details = { status: "no_session_host" };
    return new ServiceError("host_unreachable", "there is no connection to the session host", { details });
  }

  /** Throws `problem`. */
  check(): void {
    const { problem } = this;
    if (problem !== undefined) throw problem;
  }
}
