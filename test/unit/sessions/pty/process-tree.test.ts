import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { parseStat } from "../../../../src/sessions/pty/process-table.ts";
import { endProcesses, sessionProcesses, startTicks } from "../../../../src/sessions/pty/process-tree.ts";
import { triedWithoutDescriptors } from "../without-descriptors.ts";

const FIELDS = "S 1 4000 4001 34816 4000 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456789 1 2";

test.each(["sleep", "a b", "x) S 1 2 3", "((", ""])("the line of a process named %j is read", (name) => {
  const times = { startTicks: 123_456_789, isZombie: false };
  const process = { pid: 4002, group: 4000, session: 4001, foreground: 4000, ...times };
  expect(parseStat(`4002 (${name}) ${FIELDS}\n`)).toEqual(process);
});

test("a process that has ended but was not waited for is a zombie", () => {
  expect(parseStat(`7 (x) ${FIELDS.replace("S", "Z")}`).isZombie).toBe(true);
});

test("a process keeps its start time, and has none when it is gone", async () => {
  const child = spawn("sleep", ["60"]);
  const pid = child.pid ?? 0;
  const ticks = startTicks(pid);
  expect(ticks).toBeGreaterThanOrEqual(startTicks(process.pid) ?? Number.POSITIVE_INFINITY);
  expect(startTicks(pid)).toBe(ticks);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(startTicks(pid)).toBeUndefined();
});

test("a session is its leader and what the leader started", async () => {
  // The shell reports the pid of its child, which has a process group of its own.
  const leader = spawn("sh", ["-cm", "sleep 60 & echo $!; wait"], { detached: true });
  const [line] = await once(leader.stdout, "data");
  const pids = [leader.pid, Number(line)];
  expect([...(await sessionProcesses(leader.pid ?? 0))].sort()).toEqual(pids.sort());
  const exited = once(leader, "exit");
  expect(await endProcesses(leader.pid ?? 0, startTicks(leader.pid ?? 0), { graceMs: 3000 })).toEqual([]);
  expect(await exited).toEqual([null, "SIGHUP"]);
  expect(await sessionProcesses(leader.pid ?? 0)).toEqual([]);
});

test("nobody is ended whose start time is another one or unknown, nor the kernel or init", async () => {
  const child = spawn("sleep", ["60"], { detached: true });
  const pid = child.pid ?? 0;
  const ticks = startTicks(pid) ?? 0;
  for (const other of [ticks - 1, ticks + 1, undefined]) {
    expect(await endProcesses(pid, other, { graceMs: 0 })).toEqual([]);
  }
  for (const root of [0, 1]) {
    expect(await endProcesses(root, startTicks(root), { graceMs: 0 })).toEqual([]);
    expect(await sessionProcesses(root)).toEqual([]);
  }
  expect(startTicks(pid)).toBe(ticks);
  child.kill("SIGKILL");
});

test("many sessions are ended side by side", async () => {
  const leaders = Array.from({ length: 50 }, () => spawn("sleep", ["60"], { detached: true }).pid ?? 0);
  const left = await Promise.all(leaders.map((pid) => endProcesses(pid, startTicks(pid), { graceMs: 3000 })));
  expect(left.flat()).toEqual([]);
  expect((await Promise.all(leaders.map(sessionProcesses))).flat()).toEqual([]);
});

test("a look for which there is no file descriptor fails, and the next one is made all the same", async () => {
  const { href } = new URL("../../../../src/sessions/pty/process-tree.ts", import.meta.url);
  const before = `
    import { sessionProcesses } from "${href}";
    const look = () => sessionProcesses(process.pid).then((pids) => pids.includes(process.pid), ({ code }) => code);
  `;
  expect(await triedWithoutDescriptors(before, "look()")).toBe("EMFILE,true");
});
