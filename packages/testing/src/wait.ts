import { setTimeout as pause } from "node:timers/promises";
import { isTimeout, withDeadline } from "../../../src/lib/async/deadline.ts";

/** Unless a wait is given another. */
export const WAIT_TIMEOUT_MS = 60_000;

export type WaitOptions = {
  /** Milliseconds; 60,000 unless given. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Waits for what tells of itself. Rejects with an Error that says what did not come, and what `scene` says then. */
export async function waitFor<T>(
  work: Promise<T>,
  what: string,
  { timeoutMs = WAIT_TIMEOUT_MS, signal }: WaitOptions,
  scene: () => string = () => "",
): Promise<T> {
  try {
    return await withDeadline(work, timeoutMs, what, signal);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new Error(failure(`${what} did not come within ${timeoutMs} ms`, scene()), { cause: error });
  }
}

/** Between two calls of a check: short at first, then long enough that a long wait costs little. */
const [MIN_POLL_MS, MAX_POLL_MS] = [10, 50];

/**
 * Calls `check` until it returns something: for what sends no event. A check that fails is repeated; the last failure is the
 * cause of the Error that it rejects with when the time is over.
 */
export async function eventually<T>(
  check: (signal: AbortSignal) => Promise<T | undefined>,
  what: string,
  { timeoutMs = WAIT_TIMEOUT_MS, signal }: WaitOptions = {},
  scene: () => string = () => "",
): Promise<T> {
  let cause: unknown;
  const search = async (stop: AbortSignal): Promise<T> => {
    for (let pollMs = MIN_POLL_MS; ; pollMs = Math.min(1.5 * pollMs, MAX_POLL_MS)) {
      try {
        const found = await check(stop);
        if (found !== undefined) return found;
        cause = undefined;
      } catch (error) {
        cause = error;
      }
      await pause(pollMs, undefined, { signal: stop });
    }
  };
  try {
    return await withDeadline(search, timeoutMs, what, signal);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const last = cause instanceof Error ? `: ${cause.message}` : "";
    const message = `${what} did not come within ${timeoutMs} ms${last}`;
    throw new Error(failure(message, scene()), { cause: cause ?? error });
  }
}

export function failure(message: string, scene: string): string {
  return scene === "" ? message : `${message}\n${scene}`;
}
