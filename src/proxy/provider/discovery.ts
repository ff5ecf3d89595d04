import { Backoff } from "../../lib/async/backoff.ts";
import { RETRY_FIRST_MS, RETRY_MAX_MS } from "../../protocol/limits.ts";

/**
 * Looks for a provider from now on, with longer and longer pauses, until it is found: the server starts without it, and
 * the first who logs in need not wait. Whoever logs in meanwhile has it looked for as well.
 */
export function keepDiscovering(provider: { discover(): Promise<void> }, random: () => number): Disposable {
  const backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random });
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const attempt = (): void => {
    provider.discover().catch(() => {
      if (!isOver) timer = setTimeout(attempt, backoff.next()).unref();
    });
  };
  attempt();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
