/** How every command but `run` and `attach` ends; those two end as the program in the terminal did. */
export const ExitCode = { Ok: 0, Failed: 1, Usage: 2 } as const;

/** A process that a signal ended, as shells put it. */
export function signalExitCode(signal: number): number {
  return 128 + signal;
}

/** How a command says its exit code, where it is not 0. */
export type Finish = (exitCode: number) => void;
