import { ServiceError } from "../../protocol/errors.ts";

export type EvenRefusalOptions = {
  /** Refusals are answered after this, or a multiple of it, in milliseconds. */
  readonly stepMs: number;
  /** So long after a refusal that took several steps, in milliseconds, all others take as many. */
  readonly memoryMs: number;
  /** Milliseconds, never going back. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
};

/** However slow the slowest is: nobody waits longer than this many steps because of another. */
const MAX_STEPS = 4;

/**
 * Makes all refusals of a login take the same time, whatever was found out before: whether there is such a user, whether
 * the password is right and the account is not, whether anybody was asked. A success is not held up.
 */
export class EvenRefusal {
  readonly #options: EvenRefusalOptions;
  #slow = { steps: 1, untilMs: 0 };

  constructor(options: EvenRefusalOptions) {
    this.#options = options;
  }

  /** Settles as `login` does, later where it fails. What is refused for being too much is refused at once. */
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
    // A failure of ours says nothing about how long a refusal takes.
    const isRefusal = error instanceof ServiceError && error.code === "invalid_credentials";
    const remembered = now() < this.#slow.untilMs ? this.#slow.steps : 1;
    if (isRefusal && steps > 1 && steps >= remembered) {
      this.#slow = { steps: Math.min(steps, MAX_STEPS), untilMs: now() + memoryMs };
    }
    await pause(Math.max(steps, remembered) * stepMs - tookMs);
  }
}
