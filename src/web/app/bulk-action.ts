// One action on many sessions.
import { z } from "zod";
import { waited } from "../waited.ts";

/** Parallel requests of an action on many sessions. */
const ACTIONS_AT_ONCE = 6;
/** An error with a time for the next attempt. */
const RetryAfter = z.object({ details: z.object({ retryAfterSeconds: z.number() }) });

/**
 * Acts on a few at a time; requests over the server's limit are sent later. Returns the other failures. After `signal`
 * nothing more is sent.
 */
export async function actOnEach<T>(
  targets: readonly T[],
  act: (target: T) => Promise<void>,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const left = [...targets];
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const target = left.shift();
      if (target === undefined) return;
      try {
        await act(target);
      } catch (error) {
        const wait = RetryAfter.safeParse(error).data?.details.retryAfterSeconds;
        if (wait === undefined) failures.push(error);
        else {
          await waited(wait * 1000, signal);
          // Not before: another worker would not wait.
          left.push(target);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: ACTIONS_AT_ONCE }, work));
  return failures;
}
