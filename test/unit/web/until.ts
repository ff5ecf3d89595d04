import { effect, type ReadonlySignal } from "@preact/signals";

/** Waits until a signal has a value that is wanted; the test's own deadline ends the wait. */
export function until<T>(signal: ReadonlySignal<T>, isWanted: (value: T) => boolean): Promise<T> {
  return new Promise((resolve) => {
    const stop = new AbortController();
    const dispose = effect(() => {
      const { value } = signal;
      if (stop.signal.aborted || !isWanted(value)) return;
      stop.abort();
      resolve(value);
    });
    stop.signal.addEventListener("abort", dispose);
    if (stop.signal.aborted) dispose();
  });
}
