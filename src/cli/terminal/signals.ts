import { constants } from "node:os";

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Until disposed, these signals call the listener instead of ending the process. */
export function onSignals(names: readonly StopSignal[], listener: (signal: StopSignal) => void): Disposable {
  for (const name of names) process.on(name, listener);
  return {
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, listener);
    },
  };
}

export function signalNumber(signal: StopSignal): number {
  return constants.signals[signal];
}
