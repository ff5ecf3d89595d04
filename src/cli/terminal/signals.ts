import { constants } from "node:os";

export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/** Until disposed, these signals call the listener, and those that end a process do not. */
export function onSignals<Name extends NodeJS.Signals>(
  names: readonly Name[],
  listener: (signal: Name) => void,
): Disposable {
  for (const name of names) process.on(name, listener);
  return {
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, listener);
    },
  };
}

/** Until disposed, the first of these signals calls the listener, and then has its own effect. */
export function beforeSignals(names: readonly NodeJS.Signals[], listener: () => void): Disposable {
  const listening = onSignals(names, (name) => {
    listening[Symbol.dispose]();
    listener();
    process.kill(process.pid, name);
  });
  return listening;
}

/** The exit code of a process that was ended by a signal, as in shells. */
export function signalExitCode(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
