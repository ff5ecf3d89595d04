import { onSignals, type StopSignal } from "./signals.ts";

/**
 * Keeps a service going until one of the signals comes or `ended` resolves, then stops it in good order. A second signal
 * ends the process at once, as if nobody listened.
 */
export async function untilStopped<Service extends AsyncDisposable>(
  start: () => Promise<Service>,
  signals: readonly StopSignal[],
  ended: (service: Service) => Promise<void>,
): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  using listening = onSignals(signals, () => {
    listening[Symbol.dispose]();
    stopped.resolve();
  });
  await using service = await start();
  await Promise.race([stopped.promise, ended(service)]);
}
