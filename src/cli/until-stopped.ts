import { finished } from "node:stream/promises";
import { isTimeout, withDeadline } from "../lib/async/deadline.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { InputStream } from "./process-context.ts";
import { onSignals, type StopSignal } from "./terminal/signals.ts";

/**
 * Runs a service until a signal or `ended`, then stops it gracefully. A second signal ends the process at once. Throws
 * `shutting_down` when stopping takes longer than `graceMs`.
 */
export async function untilStopped<Service extends AsyncDisposable>(
  start: () => Promise<Service>,
  stop: { readonly signals: readonly StopSignal[]; readonly graceMs: number },
  ended?: (service: Service) => Promise<void>,
): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  using listening = onSignals(stop.signals, () => {
    listening[Symbol.dispose]();
    stopped.resolve();
  });
  const service = await start();
  try {
    await Promise.race([stopped.promise, ...(ended === undefined ? [] : [ended(service)])]);
  } finally {
    await withinGrace(service[Symbol.asyncDispose](), stop.graceMs);
  }
}

async function withinGrace(stopping: PromiseLike<void>, graceMs: number): Promise<void> {
  try {
    await withDeadline(Promise.resolve(stopping), graceMs, "the stop");
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    const message = `not stopped in good order within ${graceMs / 1_000} s: give it longer with --grace`;
    throw new ServiceError("shutting_down", message, { cause });
  }
}

/** Resolves when standard input ends or fails. Reads and drops it. */
export async function inputEnd(stdin: InputStream): Promise<void> {
  await finished(stdin.resume(), { writable: false }).catch(() => undefined);
}
