/** The longest wait of a timer. */
const MAX_WAIT_MS = 2 ** 31 - 1;

/** Resolves after that time, or at once when the signal is aborted. */
export function waited(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, MAX_WAIT_MS));
    signal.addEventListener("abort", end);
  });
}
