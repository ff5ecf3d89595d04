// Whose containers those of the engine are: so that what a killed test run left behind is known for what it is.
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";

export const OWNER_LABEL = "ttyhq.testing.owner";

/** This process, among all of all machines: machine, set of processes, number. */
export function ownName(): string {
  return `${place()} ${process.pid}`;
}

/** Whether that owner can be known to be dead: it was a process here, and there is none of its number. */
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

/** Containers may share the name of their machine; their processes are counted apart. */
function place(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}
