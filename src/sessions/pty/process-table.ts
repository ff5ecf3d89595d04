// What the system says about processes: /proc of Linux (proc_pid_stat(5)), or sysctl(3) of macOS by the native module.
import { readdirSync, readFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { Mutex } from "../../lib/async/mutex.ts";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { loadNative } from "../../lib/os/installation.ts";

/** Processes are read in slices of about 1 ms, so that a long list does not delay terminals. */
const SLICE_PROCESSES = 64;
/** A program may have megabytes of arguments; people are shown the first ones. */
const MAX_COMMAND_BYTES = 4 * 1024;

export type ProcessStat = {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  /** The process group that has the terminal; -1: the process has none. */
  readonly foreground: number;
  /** Clock ticks since boot, or on macOS microseconds since 1970. Identifies a process together with the pid, which may be reused. */
  readonly startTicks: number;
  readonly isZombie: boolean;
};

export type ProcessTable = {
  /** Undefined if there is none, or it is not readable. Throws without a free file descriptor. */
  stat(pid: number): ProcessStat | undefined;
  all(): Promise<readonly ProcessStat[]>;
  /**
   * The program's first arguments, its name before them. Rejects or is empty if they are unknown. Linux reads them in the
   * memory of that process, which can keep them from being read for ever: nothing may wait for the answer.
   */
  words(pid: number): Promise<readonly string[]>;
};

export function processTable(platform: NodeJS.Platform): ProcessTable {
  return platform === "darwin" ? sysctlTable(() => loadNative("ttyhq.node")) : procTable;
}

const procTable: ProcessTable = {
  stat: (pid) => {
    try {
      return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch (error) {
      if (isErrno(error, "EMFILE", "ENFILE")) throw error;
      return undefined;
    }
  },
  all: async () => {
    const processes: ProcessStat[] = [];
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    for (const [index, pid] of pids.entries()) {
      if (index % SLICE_PROCESSES === SLICE_PROCESSES - 1) await setImmediate();
      const stat = procTable.stat(Number(pid));
      if (stat !== undefined) processes.push(stat);
    }
    return processes;
  },
  words: async (pid) => {
    const text = await commands.take(() => readStart(`/proc/${pid}/cmdline`, MAX_COMMAND_BYTES));
    const words = text.split("\0");
    return words.slice(0, words.findLastIndex((word) => word !== "") + 1);
  },
};

/** Keeps the other threads that read files free. The state is the module's, since the threads are the process's. */
const commands = new Mutex();

/** At most that many bytes, as a thread reads them. */
export async function readStart(path: string, length: number): Promise<string> {
  await using file = await openFile(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length));
  return buffer.toString("utf8", 0, bytesRead);
}

/** Parses /proc/PID/stat. The name in parentheses may contain spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const afterName = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [state, , group, session, , foreground] = afterName;
  return {
    pid: Number.parseInt(line, 10),
    group: Number(group),
    session: Number(session),
    foreground: Number(foreground),
    startTicks: Number(afterName[19]),
    isZombie: state === "Z" || state === "X",
  };
}

/** Of native/process.c. */
export type SysctlModule = {
  /** SYSCTL_FIELDS numbers for that process, or for each process if `pid` is 0. */
  readProcesses(pid: number): readonly number[];
  readArguments(pid: number): Uint8Array | undefined;
};

const SYSCTL_FIELDS = 6;

/** `load`: called on demand, since not every process asks for others. */
export function sysctlTable(load: () => SysctlModule): ProcessTable {
  return {
    stat: (pid) => (pid > 0 ? statsOf(load().readProcesses(pid))[0] : undefined),
    all: async () => statsOf(load().readProcesses(0)),
    words: async (pid) => parseArguments(load().readArguments(pid) ?? new Uint8Array()),
  };
}

function statsOf(numbers: readonly number[]): readonly ProcessStat[] {
  return Array.from({ length: numbers.length / SYSCTL_FIELDS }, (_, index) => {
    const fields = numbers.slice(index * SYSCTL_FIELDS, (index + 1) * SYSCTL_FIELDS);
    const [pid = 0, group = 0, session = 0, foreground = 0, startTicks = 0, isZombie = 0] = fields;
    return { pid, group, session, foreground, startTicks, isZombie: isZombie === 1 };
  });
}

/** Parses what KERN_PROCARGS2 has: a count, the program's path, NULs, that many arguments, and the environment. */
export function parseArguments(bytes: Uint8Array): readonly string[] {
  const buffer = Buffer.from(bytes);
  if (buffer.length < 4) return [];
  const [, rest = ""] = /^[^\0]*\0+([\s\S]*)$/.exec(buffer.toString("utf8", 4)) ?? [];
  return rest.split("\0").slice(0, buffer.readInt32LE(0));
}
