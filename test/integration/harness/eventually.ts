import { setTimeout as pause } from "node:timers/promises";
import { PATIENCE_MS } from "./patience.ts";

const POLL_MS = 10;

/** Looks again and again, for what nobody tells of: files, and processes that are not ours. Throws after 60 s. */
export async function eventually<T>(check: () => Promise<T | undefined>, what: string): Promise<T> {
  const limit = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (performance.now() > limit) throw new Error(`${what} did not come within ${PATIENCE_MS} ms`);
    await pause(POLL_MS);
  }
}
