import { setTimeout as pause } from "node:timers/promises";
import { isTimeout, withDeadline } from "../../../src/lib/async/deadline.ts";

/** Default deadline of a wait. */
export const WAIT_TIMEOUT_MS = 60_000;

export type WaitOptions = {
  /** Milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Waits for an event. Rejects with an Error that names the missing event, and the result of `scene` at that time. */
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
 * Polls `check` until it returns a value: for conditions without events. A failing check is repeated; after the
 * deadline its last failure is the cause of the Error.
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
