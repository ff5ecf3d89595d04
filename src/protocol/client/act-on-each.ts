// One action on many sessions.
import { ServiceError } from "../errors.ts";
import { waited } from "../waited.ts";

/** Parallel requests of an action on many sessions. */
const ACTIONS_AT_ONCE = 6;
/** The limits of our servers are per minute. Another server may refuse for any time, and without end. */
const MAX_WAIT_SECONDS = 60;
const MAX_TRIES = 10;

type Failure<T> = { readonly target: T; readonly error: unknown };

/**
 * Acts on a few at a time; requests over the server's limit are sent later, if that is soon. After `signal` nothing more
 * is sent. Results and other failures have the order of the targets.
 */
export async function actOnEach<T, Result>(
  targets: readonly T[],
  act: (target: T) => Promise<Result>,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly results: readonly Result[]; readonly failures: readonly Failure<T>[] }> {
  const left = targets.map((target, index) => ({ target, index, tries: 1 }));
  const results: Result[] = [];
  const failures: Failure<T>[] = [];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined && !signal.aborted; next = left.shift()) {
      const { target, index, tries } = next;
      try {
        results[index] = await act(target);
      } catch (error) {
        const seconds = error instanceof ServiceError ? error.details.retryAfterSeconds : undefined;
        const isLater = typeof seconds === "number" && seconds <= MAX_WAIT_SECONDS && tries < MAX_TRIES;
        if (!isLater) failures[index] = { target, error };
        else {
          await waited(seconds * 1000, signal);
          // Not before: another worker would not wait.
          left.push({ ...next, tries: tries + 1 });
        }
      }
    }
  };
  await Promise.all(Array.from({ length: ACTIONS_AT_ONCE }, work));
  // Without the gaps.
  return { results: Object.values(results), failures: Object.values(failures) };
}
