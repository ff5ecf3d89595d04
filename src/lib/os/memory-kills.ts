// What the kernel did for want of memory: it tells nobody but its own log and these counters.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const GROUPS = "sys/fs/cgroup";

/**
 * How many processes the kernel ended for want of memory in the control group of this process, which its programs are in,
 * too: since the group was made. Of the whole machine where it is in none. `undefined` where nothing is counted.
 * `root`: below which the kernel's files are.
 */
export async function memoryKills(root = "/"): Promise<number | undefined> {
  const own = await textOf(join(root, "proc/self/cgroup"));
  for (const path of [...placesOf(own ?? ""), "proc/vmstat"]) {
    const [, count] = /^oom_kill (\d+)$/m.exec((await textOf(join(root, path))) ?? "") ?? [];
    if (count !== undefined) return Number(count);
  }
  return undefined;
}

/** Where the group's counter may be: a container sees its own group at the top, under whatever name it has outside. */
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
