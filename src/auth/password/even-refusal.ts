import { ServiceError } from "../../protocol/errors.ts";
import { SLOW_REFUSAL_MEMORY_MS } from "../../protocol/limits.ts";

type EvenRefusalOptions = {
  /** Refusals are answered after this time in milliseconds, or a multiple of it. */
  readonly stepMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
};

/** Bounds the wait, however slow one refusal was. */
const MAX_STEPS = 4;

/**
 * Makes all refusals of a login take the same time, so that it does not reveal what was checked. Settles as `login` does,
 * later if it fails; successes and `rate_limited` are not delayed. After a refusal that took several steps all others take
 * as many, for SLOW_REFUSAL_MEMORY_MS.
 */
export function evenRefusal({ stepMs, now, pause }: EvenRefusalOptions) {
  let slow = { steps: 1, untilMs: 0 };
  return async <T>(login: () => Promise<T>): Promise<T> => {
    const startedMs = now();
    try {
      return await login();
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : undefined;
      if (code === "rate_limited") throw error;
      const tookMs = now() - startedMs;
      const steps = Math.max(1, Math.ceil(tookMs / stepMs));
      const remembered = now() < slow.untilMs ? slow.steps : 1;
      // Internal errors say nothing about the time of refusals.
      if (code === "invalid_credentials" && steps > 1 && steps >= remembered)
        slow = { steps: Math.min(steps, MAX_STEPS), untilMs: now() + SLOW_REFUSAL_MEMORY_MS };
      await pause(Math.max(steps, remembered) * stepMs - tookMs);
      throw error;
    }
  };
}
