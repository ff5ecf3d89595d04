// The owner of containers on the engine, which identifies those of a killed test run.
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";

export const OWNER_LABEL = "ttyhq.testing.owner";

/** This process, unique among all machines: machine, set of processes, number. */
export function ownName(): string {
  return `${place()} ${process.pid}`;
}

/** Whether that owner is certainly dead: it was a process of this machine, and no process has its number. */
export function isDead(owner: string): boolean {
  const [at, pid] = [owner.slice(0, owner.lastIndexOf(" ")), Number(owner.slice(owner.lastIndexOf(" ") + 1))];
  if (at !== place() || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/** Containers may share the name of their machine; their processes have separate numbers. */
function place(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}
