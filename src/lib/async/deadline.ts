/** Rejects with a `TimeoutError` ("WHAT took longer than…") or the reason of `signal`; both abort the signal of `work`. */
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
    // The race handles late rejections.
    return await Promise.race([stopped.promise, started]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", follow);
  }
}

/** Whether `withDeadline` or `AbortSignal.timeout` rejected with this. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

function timeoutError(ms: number, what: string): DOMException {
  return new DOMException(`${what} took longer than ${ms} ms`, "TimeoutError");
}

/** Not started after an abort. */
async function startWork<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await work(signal);
}
