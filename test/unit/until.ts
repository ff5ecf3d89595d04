const DEADLINE_MS = 60_000;

/** Looks again with every turn of the event loop, for what does not tell of itself. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms: ${condition}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
