import { ServiceError } from "../protocol/errors.ts";

type ReadinessParts = {
  /** Why this process cannot serve now. */
  readonly obstacle?: (() => ServiceError | undefined) | undefined;
  /** The session host is not started again, since this process is about to stop. */
  readonly leave?: () => void;
};

/** Whether a load balancer should send new requests to this process. */
export class Readiness {
  readonly #parts: ReadinessParts;
  #isDraining = false;

  constructor(parts: ReadinessParts = {}) {
    this.#parts = parts;
  }

  drain(): void {
    this.#isDraining = true;
    this.#parts.leave?.();
  }

  /** Why requests should not come here: `shutting_down`, `host_unreachable` or `starting`, with the reason in `details.status`. */
  get problem(): ServiceError | undefined {
    if (this.#isDraining) {
      const details = { status: "draining" };
      return new ServiceError("shutting_down", "the server is shutting down", { details });
    }
    return this.#parts.obstacle?.();
  }

  /** Throws `problem`. */
  check(): void {
    const { problem } = this;
    if (problem !== undefined) throw problem;
  }
}
