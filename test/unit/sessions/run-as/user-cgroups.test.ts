// Folders that look like the kernel's control groups of version 2; those of version 1 are tested in a container.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openUserCgroups } from "../../../../src/sessions/run-as/user-cgroups.ts";

type Group = { readonly processes: readonly number[]; readonly max?: string; readonly controls?: string };

/** Where control groups are mounted, with one at that path. */
async function mounted(path: string, { processes, max, controls = "" }: Group): Promise<string> {
  const mount = await mkdtemp(join(tmpdir(), "ttyhq-cgroup-"));
  onTestFinished(() => rm(mount, { recursive: true }));
  const group = join(mount, path);
  await mkdir(group, { recursive: true });
  await writeFile(join(group, "cgroup.procs"), processes.map((pid) => `${pid}\n`).join(""));
  await writeFile(join(group, "cgroup.subtree_control"), controls);
  if (max !== undefined) await writeFile(join(group, "pids.max"), `${max}\n`);
  return mount;
}

const read = (...path: readonly string[]): Promise<string> => readFile(join(...path), "utf8");

test("a user may have half of the processes of a container, whose own make room for limits", async () => {
  const mount = await mounted("/", { processes: [process.pid], max: "1000" });
  const procs = openUserCgroups(mount, "0::/\n").procsOf(1001);
  expect(procs).toBe(join(mount, "ttyhq-user-1001/cgroup.procs"));
  expect(await read(mount, "ttyhq-user-1001/pids.max")).toBe("500");
  expect(await read(mount, "ttyhq-host/cgroup.procs")).toBe(`${process.pid}`);
  expect(await read(mount, "cgroup.subtree_control")).toBe("+pids");
});

test("a service whose group is its own may have limits in it, and a host after it finds them", async () => {
  const service = "/system.slice/ttyhq.service";
  const mount = await mounted(service, { processes: [process.pid], max: "max" });
  openUserCgroups(mount, `0::${service}\n`).procsOf(0);
  expect(await read(mount, service, "ttyhq-user-0/pids.max")).toBe("4096");

  const leaf = await mounted(`${service}/ttyhq-host`, { processes: [process.pid], max: "max" });
  await writeFile(join(leaf, service, "cgroup.subtree_control"), "pids\n");
  await writeFile(join(leaf, service, "pids.max"), "100\n");
  openUserCgroups(leaf, `0::${service}/ttyhq-host\n`).procsOf(7);
  expect(await read(leaf, service, "ttyhq-user-7/pids.max")).toBe("50");
});

test("a group with the processes of others in it, or without limits, is left as it is", async () => {
  const scope = "/user.slice/session-1.scope";
  const sharedGroup = await mounted(scope, { processes: [process.pid, process.ppid], max: "max" });
  expect(() => openUserCgroups(sharedGroup, `0::${scope}\n`)).toThrow("has other processes");
  const root = await mounted("/", { processes: [process.pid] });
  expect(() => openUserCgroups(root, "0::/\n")).toThrow("does not limit");
  const elsewhere = await mounted("/", { processes: [1], max: "max" });
  expect(() => openUserCgroups(elsewhere, "0::/\n")).toThrow("is not below");
  expect(await read(sharedGroup, scope, "cgroup.subtree_control")).toBe("");
});
