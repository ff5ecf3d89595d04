// The processes of this machine, read from /proc, and killing them.
import { readdirSync, readFileSync } from "node:fs";
import { type ProcessStat, parseStat } from "../../../src/sessions/pty/process-table.ts";

/** Undefined when there is no such process. */
export function processStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return undefined;
  }
}

/** Like `process.kill`; ignores a process that ended just before the call. */
export function killIfThere(pid: number, signal: NodeJS.Signals): void {
  // 0 means the group of the test run, and negative numbers other groups.
  if (pid <= 0) throw new Error(`${pid} is no process`);
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** The pids of all running processes in that terminal session. */
export function sessionMembers(sessionId: number): readonly number[] {
  return all()
    .filter(({ session, isZombie }) => session === sessionId && !isZombie)
    .map(({ pid }) => pid);
}

/** Zombie children of a process. */
export function zombiesOf(parent: number): readonly number[] {
  const children = new Set(
    readdirSync(`/proc/${parent}/task`).flatMap((thread) =>
      readFileSync(`/proc/${parent}/task/${thread}/children`, "latin1").trim().split(" ").map(Number),
    ),
  );
  return all()
    .filter(({ pid, isZombie }) => isZombie && children.has(pid))
    .map(({ pid }) => pid);
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** The open files of a process. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function all(): readonly ProcessStat[] {
  return readdirSync("/proc").flatMap((name) =>
    /^\d+$/.test(name) ? (processStat(Number(name)) ?? []) : [],
  );
}
