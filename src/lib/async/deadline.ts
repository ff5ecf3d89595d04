/**
 * Waits for `work`, at most `ms` milliseconds. Rejects with a `TimeoutError` ("WHAT took longer than…"), as the
 * platform's own deadlines do (which error code a client sees, the caller knows), or, when the given signal aborts
 * first, with that signal's reason. Work given as a function gets a signal that aborts at either; what work does
 * after that is nobody's concern and is ignored.
 */
export async function withDeadline<T>(
  work: Promise<T> | ((signal: AbortSignal) => Promise<T>),
  ms: number,
  what: string,
  signal?: AbortSignal,
): Promise<T> {
  const stop = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const abort = (reason: unknown): void => {
    stopped.reject(reason);
    stop.abort(reason);
  };
  const follow = (): void => abort(signal?.reason);
  const timer = setTimeout(() => abort(timeoutError(ms, what)), ms);
  signal?.addEventListener("abort", follow, { once: true });
  try {
    if (signal?.aborted) follow();
    const started = typeof work === "function" ? startWork(work, stop.signal) : work;
    // The race listens to both sides for good: what rejects late is not unhandled.
    return await Promise.race([stopped.promise, started]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", follow);
  }
}

/** True for what `withDeadline` and `AbortSignal.timeout` reject with. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

function timeoutError(ms: number, what: string): DOMException {
  return new DOMException(`${what} took longer than ${ms} ms`, "TimeoutError");
}

/** Not even started when nobody waits for it any more. */
async function startWork<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await work(signal);
}
