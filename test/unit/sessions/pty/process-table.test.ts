import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { parseArguments, processTable, sysctlTable } from "../../../../src/sessions/pty/process-table.ts";

const table = processTable(process.platform);

test("the table has what ps says about the same processes", async () => {
  // A stopped job, a sleeping one, and a child that nobody waits for.
  const script =
    "sleep 61 & sleep 62 & kill -STOP $!; perl -e 'exit unless fork; sleep 63' & echo $!; exec sleep 64";
  const leader = spawn("sh", ["-cm", script], { detached: true });
  await once(leader.stdout, "data");
  try {
    const zombies = (): number => psOf(leader.pid ?? 0).filter(({ isZombie }) => isZombie).length;
    await expect.poll(zombies, { timeout: 30_000 }).toBe(1);
    await expect.poll(() => table.words(leader.pid ?? 0), { timeout: 30_000 }).toEqual(["sleep", "64"]);
    const expected = psOf(leader.pid ?? 0);
    expect(expected.length).toBe(5);
    const found = (await table.all()).filter(({ pid }) => expected.some((one) => one.pid === pid));
    expect(found).toEqual(expect.arrayContaining(expected.map((one) => expect.objectContaining(one))));
    expect(new Set(found.filter(({ isZombie }) => !isZombie).map(({ session }) => session))).toEqual(
      new Set([leader.pid]),
    );
    for (const { pid } of expected) expect(table.stat(pid)).toEqual(found.find((one) => one.pid === pid));
  } finally {
    for (const { group } of psOf(leader.pid ?? 0)) process.kill(-group, "SIGKILL");
  }
});

test("however many arguments a program has, they are read at once, and only the first ones", async () => {
  const first = ["sh", "-c", "echo ready; read line"];
  const empty = Array<string>(100_000).fill("");
  using shell = spawn("sh", [...first.slice(1), ...empty, "last"]);
  await once(shell.stdout, "data");
  const begunMs = performance.now();
  const words = await table.words(shell.pid ?? 0);
  expect(performance.now() - begunMs).toBeLessThan(1_000);
  expect(words.slice(0, 3)).toEqual(first);
  expect(words.length).toBeLessThan(10_000);
});

/** The processes of the groups that a leader and its children lead, by what ps of Linux and of macOS have in common. */
function psOf(leader: number) {
  const lines = execFileSync("ps", ["-axo", "pid=,ppid=,pgid=,tpgid=,stat="], { encoding: "utf8" }).trim();
  const all = lines.split("\n").map((line) => {
    const [pid = 0, parent = 0, group = 0, foreground = 0] = line.trim().split(/\s+/).map(Number);
    return { pid, parent, group, foreground, isZombie: /\sZ\S*$/.test(line) };
  });
  const groups = all
    .filter(({ pid, parent }) => pid === leader || parent === leader)
    .map(({ group }) => group);
  return all.filter(({ group }) => groups.includes(group)).map(({ parent: _, ...one }) => one);
}

test("macOS's table is read from the numbers of the native module", async () => {
  const numbers = [402, 402, 400, 402, 1_767_225_600_123_456, 0, 403, 403, -1, 0, 1_767_225_600_123_457, 1];
  const asked: number[] = [];
  const module = {
    readProcesses: (pid: number) => {
      asked.push(pid);
      return pid === 404 ? [] : numbers.slice(0, pid === 0 ? 12 : 6);
    },
    readArguments: () => undefined,
  };
  const macos = sysctlTable(() => module);
  const shell = { pid: 402, group: 402, session: 400, foreground: 402, startTicks: 1_767_225_600_123_456 };
  const zombie = { pid: 403, group: 403, session: -1, foreground: 0, startTicks: 1_767_225_600_123_457 };
  expect(await macos.all()).toEqual([
    { ...shell, isZombie: false },
    { ...zombie, isZombie: true },
  ]);
  expect(macos.stat(402)).toEqual({ ...shell, isZombie: false });
  expect(macos.stat(404)).toBeUndefined();
  // 0 would be all of them.
  expect(macos.stat(0)).toBeUndefined();
  expect(asked).toEqual([0, 402, 404]);
  expect(await macos.words(402)).toEqual([]);
});

test("the arguments of a process are told from its path and its environment", () => {
  const bytes = (count: number, text: string) =>
    Buffer.concat([Buffer.from([count, 0, 0, 0]), Buffer.from(text)]);
  const text = "/bin/bash\0\0\0\0\0\0\0-bash\0-c\0echo ä; sleep 1\0HOME=/Users/ada\0PATH=/bin\0\0";
  expect(parseArguments(bytes(3, text))).toEqual(["-bash", "-c", "echo ä; sleep 1"]);
  expect(parseArguments(bytes(1, "/bin/ls\0ls"))).toEqual(["ls"]);
  // An argument may be empty.
  expect(parseArguments(bytes(3, "/bin/sh\0\0sh\0\0x\0A=1\0"))).toEqual(["sh", "", "x"]);
  for (const short of [Buffer.alloc(0), Buffer.from([1, 0]), bytes(0, "/bin/ls\0ls\0")])
    expect(parseArguments(short)).toEqual([]);
});
