// Reads a server's resource use from /proc, without the programs in its terminals.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The kernel's clock ticks per second; fixed on Linux. */
const TICKS_PER_SECOND = 100;
const KIB = 1024;

/** The processes below some roots, including these, but without those of the given program. */
export class ProcessGroup {
  readonly #roots: readonly number[];
  readonly #program: string;

  /** `program`: the path of the executable that does not count. */
  constructor(roots: readonly number[], program: string) {
    this.#roots = roots;
    this.#program = program;
  }

  /** User and system time of the processes that live now. */
  cpuSeconds(): number {
    const ticks = this.pids().map((pid) => {
      const fields = statFields(pid);
      return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
    });
    return sum(ticks) / TICKS_PER_SECOND;
  }

  /** The sum of each process's peak resident memory. */
  peakBytes(): number {
    return sum(this.pids().map((pid) => field(pid, "status", "VmHWM")));
  }

  residentBytes(): number {
    return sum(this.pids().map((pid) => field(pid, "status", "VmRSS")));
  }

  /** Like resident, but shared memory is divided among its processes. */
  proportionalBytes(): number {
    return sum(this.pids().map((pid) => field(pid, "smaps_rollup", "Pss")));
  }

  pids(): readonly number[] {
    const parents = new Map(allPids().map((pid) => [pid, Number(statFields(pid)[1] ?? 0)]));
    const within = (pid: number): boolean => {
      for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) {
        if (executable(at) === this.#program) return false;
        if (this.#roots.includes(at)) return true;
      }
      return false;
    };
    return [...parents.keys()].filter(within);
  }
}

/** The processes that run this executable. */
export function pidsOf(program: string): readonly number[] {
  return allPids().filter((pid) => executable(pid) === program);
}

function allPids(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function executable(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** The fields of /proc/PID/stat after the command's name; empty if the process has ended. */
function statFields(pid: number): readonly string[] {
  const text = read(pid, "stat");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** In bytes; 0 if the process has ended. */
function field(pid: number, file: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(read(pid, file));
  return Number(found?.[1] ?? 0) * KIB;
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
