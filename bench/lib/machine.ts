import { cpus, loadavg, release, type as systemName, totalmem } from "node:os";

/** The machine of the measurement, without which the numbers mean nothing. */
export type MachineDescription = {
  readonly cores: number;
  readonly model: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** Over the minute before the run: the machine's other load. */
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
