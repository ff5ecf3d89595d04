type HedgeOptions<T> = {
  /** Milliseconds until the second attempt begins; twice as long until each further one. */
  readonly firstMs: number;
  /** The caller gives up. */
  readonly signal: AbortSignal;
  /** Whether no other attempt can succeed. */
  readonly isFinal: (error: unknown) => boolean;
  /** Called with the result of an attempt that succeeded although it was aborted. */
  readonly discard: (late: T) => void;
};

/**
 * The result of the first attempt that succeeds; the others are aborted. The next attempt begins beside those without an
 * answer: it may reach another machine than a silent one, and a machine that is only slow answers the attempt that it has.
 * Rejects when every attempt so far has failed, or with a final error.
 */
export function hedged<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  { firstMs, signal, isFinal, discard }: HedgeOptions<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const attempts = new Set<AbortController>();
  let next: ReturnType<typeof setTimeout> | undefined;
  const decide = (): void => {
    clearTimeout(next);
    for (const other of attempts) other.abort();
  };
  const begin = (patienceMs: number): void => {
    const own = new AbortController();
    attempts.add(own);
    next = setTimeout(() => begin(2 * patienceMs), patienceMs);
    const succeeded = (result: T): void => {
      if (own.signal.aborted) {
        discard(result);
        return;
      }
      attempts.delete(own);
      decide();
      resolve(result);
    };
    const failed = (error: unknown): void => {
      attempts.delete(own);
      if (attempts.size > 0 && !isFinal(error)) return;
      decide();
      reject(error);
    };
    attempt(own.signal).then(succeeded, failed);
  };
  signal.addEventListener("abort", decide, { once: true });
  begin(firstMs);
  return promise;
}
