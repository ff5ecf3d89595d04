// How many processes the programs of one user may have together, where this process may make control groups (cgroups(7)).
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isErrno } from "../../lib/fs/atomic-file.ts";

/** Maximum of processes and threads of one user; at most half of the limit of this process. */
const MAX_PROCESSES = 4096;
/** Version 2 forbids processes in a group with limited subgroups. */
const OWN_LEAF = "ttyhq-host";
/** Programs that start meanwhile enter the group that is being emptied. */
const MAX_ROUNDS = 10;
const VERSION_1 = /^\d+:(?:[^:]*,)?pids(?:,[^:]*)?:(?<path>\/.*)$/m;
const VERSION_2 = /^0::(?<path>\/.*)$/m;

/** The groups of users; they survive the session host. */
export type UserCgroups = {
  /** A process enters the group of that user by writing 0 to this file. Throws if the group cannot be created. */
  procsOf(uid: number): string;
};

/** `mount`, `membership`: where control groups are found, and this process in them. Throws with the reason where it may not make any. */
export function openUserCgroups(
  mount = "/sys/fs/cgroup",
  membership = readFileSync("/proc/self/cgroup", "utf8"),
): UserCgroups {
  const group = existsSync(`${mount}/pids`)
    ? ownGroup(`${mount}/pids`, VERSION_1.exec(membership)?.groups?.path)
    : unified(mount, VERSION_2.exec(membership)?.groups?.path);
  accessSync(group, constants.W_OK);
  const max = Math.min(MAX_PROCESSES, halfOf(`${group}/pids.max`));
  return {
    procsOf: (uid) => {
      const path = `${group}/ttyhq-user-${uid}`;
      mkdirSync(path, { recursive: true });
      writeFileSync(`${path}/pids.max`, `${max}`);
      return `${path}/cgroup.procs`;
    },
  };
}

/** A container often has its own group mounted as the root. */
function ownGroup(mount: string, path = "/"): string {
  const found = [`${mount}${path === "/" ? "" : path}`, mount].find(
    (group) => existsSync(`${group}/cgroup.procs`) && processesIn(group).includes(process.pid),
  );
  if (found === undefined) throw new Error(`the control group of this process is not below ${mount}`);
  // The root group has no such file.
  if (!existsSync(`${found}/pids.max`)) throw new Error(`${found} does not limit the number of processes`);
  return found;
}

/** The group of this process in version 2, after its processes were moved to a subgroup. */
function unified(mount: string, path = "/"): string {
  const own = ownGroup(mount, path);
  const group = own.endsWith(`/${OWN_LEAF}`) ? dirname(own) : own;
  if (wordsOf(`${group}/cgroup.subtree_control`).includes("pids")) return group;
  // A shared group is not ours, unless it is the root, as in a container.
  if (path !== "/" && processesIn(group).some((pid) => pid !== process.pid))
    throw new Error(`${group} has other processes than this one`);
  empty(group, `${group}/${OWN_LEAF}`);
  writeFileSync(`${group}/cgroup.subtree_control`, "+pids");
  return group;
}

function empty(group: string, leaf: string): void {
  mkdirSync(leaf, { recursive: true });
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const processes = processesIn(group);
    if (processes.length === 0) return;
    for (const pid of processes) {
      try {
        writeFileSync(`${leaf}/cgroup.procs`, `${pid}`);
      } catch (error) {
        // It has ended.
        if (!isErrno(error, "ESRCH")) throw error;
      }
    }
  }
}

function processesIn(group: string): readonly number[] {
  return wordsOf(`${group}/cgroup.procs`).map(Number);
}

function wordsOf(path: string): readonly string[] {
  return readFileSync(path, "utf8").split(/\s+/).filter(Boolean);
}

/** Of a number, or of "max". */
function halfOf(path: string): number {
  const limit = Number(readFileSync(path, "utf8"));
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(limit / 2));
}
