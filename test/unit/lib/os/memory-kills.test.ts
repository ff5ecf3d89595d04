import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { memoryKills } from "../../../../src/app/server-metrics.ts";

/** What the kernel shows, below a folder; `undefined` where it counts nothing. */
async function killsOf(files: Readonly<Record<string, string>>): Promise<number | undefined> {
  await using root = await mkdtempDisposable(join(tmpdir(), "ttyhq-kernel-"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root.path, path)), { recursive: true });
    await writeFile(join(root.path, path), text);
  }
  return await memoryKills(root.path);
}

const VMSTAT = { "proc/vmstat": "nr_free_pages 1\noom_kill 40\n" };

test("those of the process's own group count, and not those of the machine", async () => {
  const events = "low 0\nmax 9\noom 5\noom_kill 3\noom_group_kill 8\n";
  const path = "sys/fs/cgroup/system.slice/ttyhq.service/memory.events";
  const self = { "proc/self/cgroup": "0::/system.slice/ttyhq.service\n" };
  expect(await killsOf({ ...VMSTAT, ...self, [path]: events })).toBe(3);
});

test("in a container the group is the top of what can be seen", async () => {
  const own = { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.events": "oom_kill 2\n" };
  expect(await killsOf({ ...VMSTAT, ...own })).toBe(2);
});

test("the older kind of groups is read as well, in a container, too, where its path is the machine's", async () => {
  const self = { "proc/self/cgroup": "4:memory:/docker/0a1b\n1:name=systemd:/docker/0a1b\n0::/\n" };
  const control = "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n";
  expect(
    await killsOf({ ...VMSTAT, ...self, "sys/fs/cgroup/memory/docker/0a1b/memory.oom_control": control }),
  ).toBe(7);
  expect(await killsOf({ ...VMSTAT, ...self, "sys/fs/cgroup/memory/memory.oom_control": control })).toBe(7);
});

test("a process in no group has the machine's", async () => {
  expect(await killsOf({ ...VMSTAT, "proc/self/cgroup": "0::/\n" })).toBe(40);
});

test("where nothing is counted there is no figure, whatever the files say", async () => {
  expect(await killsOf({})).toBeUndefined();
  expect(
    await killsOf({ "proc/self/cgroup": "nothing\n::\n", "proc/vmstat": "oom_kill many\n" }),
  ).toBeUndefined();
});
