// The kernel's out-of-memory kills, which only its log and these counters show.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const GROUPS = "sys/fs/cgroup";

/**
 * Processes killed in the control group of this process and its programs since the group was created, otherwise on
 * the whole machine. `undefined` without a counter. `root`: the prefix of the kernel's files.
 */
export async function memoryKills(root = "/"): Promise<number | undefined> {
  const own = await textOf(join(root, "proc/self/cgroup"));
  for (const path of [...placesOf(own ?? ""), "proc/vmstat"]) {
    const [, count] = /^oom_kill (\d+)$/m.exec((await textOf(join(root, path))) ?? "") ?? [];
    if (count !== undefined) return Number(count);
  }
  return undefined;
}

/** Possible places of the group's counter: a container sees its own group at the top. */
function placesOf(own: string): readonly string[] {
  const [, old] = /^\d+:(?:\w+,)*memory(?:,\w+)*:(\/.*)$/m.exec(own) ?? [];
  if (old !== undefined) {
    return [old, "/"].map((group) => join(GROUPS, "memory", group, "memory.oom_control"));
  }
  const [, group = "/"] = /^0::(\/.*)$/m.exec(own) ?? [];
  return [group, "/"].map((each) => join(GROUPS, each, "memory.events"));
}

async function textOf(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(() => undefined);
}
