import { ServiceError } from "../../protocol/errors.ts";

export type EvenRefusalOptions = {
  /** Refusals are answered after this time in milliseconds, or a multiple of it. */
  readonly stepMs: number;
  /** For this time after a refusal that took several steps, all others take as many. */
  readonly memoryMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
};

/** Bounds the wait, however slow one refusal was. */
const MAX_STEPS = 4;

/**
 * Makes all refusals of a login take the same time, so that it does not reveal what was checked. A success is not
 * delayed.
 */
export class EvenRefusal {
  readonly #options: EvenRefusalOptions;
  #slow = { steps: 1, untilMs: 0 };

  constructor(options: EvenRefusalOptions) {
    this.#options = options;
  }

  /** Settles as `login` does, later if it fails. `rate_limited` is not delayed. */
  async level<T>(login: () => Promise<T>): Promise<T> {
    const startedMs = this.#options.now();
    try {
      return await login();
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "rate_limited"))
        await this.#wait(startedMs, error);
      throw error;
    }
  }

  async #wait(startedMs: number, error: unknown): Promise<void> {
    const { stepMs, memoryMs, now, pause } = this.#options;
    const tookMs = now() - startedMs;
    const steps = Math.max(1, Math.ceil(tookMs / stepMs));
    // Internal errors say nothing about the time of refusals.
    const isRefusal = error instanceof ServiceError && error.code === "invalid_credentials";
    const remembered = now() < this.#slow.untilMs ? this.#slow.steps : 1;
    if (isRefusal && steps > 1 && steps >= remembered) {
      this.#slow = { steps: Math.min(steps, MAX_STEPS), untilMs: now() + memoryMs };
    }
    await pause(Math.max(steps, remembered) * stepMs - tookMs);
  }
}
