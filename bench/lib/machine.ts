import { cpus, loadavg, release, type as systemName, totalmem } from "node:os";

/** Where the numbers come from; without it they mean nothing. */
export type MachineDescription = {
  readonly cores: number;
  readonly model: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** Over the minute before the run: what else the machine was doing. */
  readonly loadBefore: number;
};

export function describeMachine(): MachineDescription {
  const cores = cpus();
  return {
    cores: cores.length,
    model: cores[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: `${systemName()} ${release()}`,
    node: process.version,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}
