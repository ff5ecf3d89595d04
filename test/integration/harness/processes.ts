// The processes of this machine, as /proc shows them, and their end.
import { readdirSync, readFileSync } from "node:fs";
import { type ProcessStat, parseStat } from "../../../src/sessions/pty/process-tree.ts";

/** Undefined when there is no such process. */
export function processStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return undefined;
  }
}

/** As `process.kill`; one that ended between the look and the kill has what it was to have. */
export function killIfThere(pid: number, signal: NodeJS.Signals): void {
  // 0 is the group that runs the tests, and below are other groups.
  if (pid <= 0) throw new Error(`${pid} is no process`);
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** The pids of all processes in that terminal session that have not ended. */
export function sessionMembers(sessionId: number): readonly number[] {
  return all()
    .filter(({ session, isZombie }) => session === sessionId && !isZombie)
    .map(({ pid }) => pid);
}

/** Ended children of a process that it has not waited for. */
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

/** What a process has open. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function all(): readonly ProcessStat[] {
  return readdirSync("/proc").flatMap((name) =>
    /^\d+$/.test(name) ? (processStat(Number(name)) ?? []) : [],
  );
}
