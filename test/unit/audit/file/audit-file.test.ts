import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { AuditFile } from "../../../../src/audit/file/audit-file.ts";
import { LogPlace, loginOf } from "../log-place.ts";

const run = promisify(execFile);

/** The users of all lines except those about the log itself. */
const usersOf = (lines: readonly string[]) =>
  lines.flatMap((line) => {
    const { action, user } = JSON.parse(line);
    return action.startsWith("audit.") ? [] : [user];
  });

test("after closing all lines are in order in a file that only its owner can read", async () => {
  await using place = await LogPlace.make();
  {
    await using audit = await place.open();
    for (const user of ["ada", "bob", "eve"]) audit.write(loginOf(user));
  }
  expect(usersOf(await place.lines())).toEqual(["ada", "bob", "eve"]);
  expect((await stat(place.path)).mode & 0o777).toBe(0o600);
});

test("another start appends", async () => {
  await using place = await LogPlace.make();
  for (const user of ["ada", "bob"]) {
    await using audit = await place.open();
    audit.write(loginOf(user));
  }
  expect(usersOf(await place.lines())).toEqual(["ada", "bob"]);
});

test("an interrupted line is ended before the next one", async () => {
  await using place = await LogPlace.make();
  await writeFile(place.path, '{"action":"log', { mode: 0o600 });
  {
    await using audit = await place.open();
    audit.write(loginOf("ada"));
  }
  const [torn, ...whole] = await place.lines();
  expect(torn).toBe('{"action":"log');
  expect(usersOf(whole)).toEqual(["ada"]);
});

test("a file that others could read is closed to them; its group may still read it", async () => {
  await using place = await LogPlace.make();
  for (const [before, after] of [
    [0o644, 0o640],
    [0o666, 0o640],
    [0o600, 0o600],
    [0o640, 0o640],
  ] as const) {
    await writeFile(place.path, "");
    await chmod(place.path, before);
    await using _audit = await place.open();
    expect([before, (await stat(place.path)).mode & 0o777]).toEqual([before, after]);
  }
  expect(place.said).toEqual(Array(2).fill("audit log was open to others, now closed"));
});

test("a full file is rotated, and four rotated files are kept", async () => {
  await using place = await LogPlace.make();
  const count = 60;
  for (let number = 0; number < count; number++) {
    await using audit = await place.open({ maxBytes: 600 });
    audit.write(loginOf(`user ${number}`));
  }
  const names = (await readdir(place.directory)).sort();
  const logs = ["audit.log", "audit.log.1", "audit.log.2", "audit.log.3", "audit.log.4"];
  expect(names).toEqual(["audit-head.json", "audit-key", ...logs]);
  const kept: string[] = [];
  for (const name of logs.toReversed()) {
    const path = join(place.directory, name);
    expect((await stat(path)).size).toBeLessThanOrEqual(600);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    kept.push(...usersOf(await place.lines(path)));
  }
  // The newest lines, each once, in order.
  expect(kept).toEqual(Array.from(kept, (_, index) => `user ${count - kept.length + index}`));
  expect(place.said).toEqual([]);
});

test("an older file that cannot be read does not keep a rotation out of the log", async () => {
  await using place = await LogPlace.make();
  await using audit = await place.open({ maxBytes: 400 });
  await mkdir(`${place.path}.1`);
  for (const user of ["ada", "bob"]) {
    audit.write(loginOf(user.repeat(60)));
    await audit.flushed();
  }
  expect(usersOf(await place.lines(`${place.path}.1`))).toEqual(["ada".repeat(60)]);
  const [first] = (await place.lines()).map((line) => JSON.parse(line));
  expect(first).toMatchObject({ action: "audit.rotate", details: { first: 1 } });
  expect(place.said).toEqual([]);
});

test("after somebody moves the file away a new one is started", async () => {
  await using place = await LogPlace.make();
  await using audit = await place.open();
  audit.write(loginOf("ada"));
  await written(audit, 1);
  await rename(place.path, `${place.path}.moved`);
  await until(async () => {
    audit.write(loginOf("bob"));
    // The new file is there before its first line.
    return (await stat(place.path).catch(() => undefined))?.size;
  });
  expect(usersOf(await place.lines(`${place.path}.moved`))[0]).toBe("ada");
  expect(usersOf(await place.lines())).toContain("bob");
  expect((await stat(place.path)).mode & 0o777).toBe(0o600);
});

test("two servers on one file lose and tear no line, also during rotation", async () => {
  await using place = await LogPlace.make();
  {
    await using one = await place.open({ maxBytes: 20_000 });
    await using other = await place.open({ maxBytes: 20_000 });
    for (let number = 0; number < 500; number++) {
      one.write(loginOf(`one ${number}`));
      other.write(loginOf(`other ${number}`));
      if (number % 50 === 0) await Promise.all([written(one, number), written(other, number)]);
    }
  }
  const lines: string[] = [];
  for (const name of (await readdir(place.directory)).filter((each) => each.startsWith("audit.log")))
    lines.push(...(await place.lines(join(place.directory, name))));
  // Each at most once: the oldest files are removed.
  const users = usersOf(lines);
  expect(users.length).toBeGreaterThan(100);
  expect(new Set(users).size).toBe(users.length);
});

test("a server does not start with an unusable path, and says why", async () => {
  await using place = await LogPlace.make();
  await mkdir(place.path);
  await expect(place.open()).rejects.toMatchObject({
    code: "start_failed",
    message: expect.stringMatching(/^cannot write the audit log .*audit\.log \(EISDIR.*--audit-log$/),
  });
  await expect(
    AuditFile.open({ path: join(place.directory, "no", "such"), head: place.head, log: console }),
  ).rejects.toMatchObject({
    code: "start_failed",
  });
});

test("a pipe without a reader is refused at once", async () => {
  await using place = await LogPlace.make();
  await run("mkfifo", [place.path]);
  await expect(place.open()).rejects.toMatchObject({ code: "start_failed" });
});

test("unwritable lines are counted, logged once, and noted in the audit log", async () => {
  await using place = await LogPlace.make();
  await using audit = await place.open();
  audit.write(loginOf("ada"));
  await written(audit, 1);
  // The path is now a directory: the file was moved away, and no new one can be created.
  await rename(place.path, `${place.path}.moved`);
  await mkdir(place.path);
  await until(async () => {
    audit.write(loginOf("lost"));
    return audit.counts.lost >= 3 || undefined;
  });
  expect(place.said).toEqual(["audit log not written: lines are lost"]);
  await rename(place.path, `${place.path}.directory`);
  audit.write(loginOf("bob"));
  await until(async () => place.said.at(-1) === "audit log written again" || undefined);
  const [gap] = (await place.lines()).map((each) => JSON.parse(each));
  const { lost } = audit.counts;
  expect(gap).toMatchObject({ action: "audit.gap", result: "failed", details: { lost } });
});

async function written(audit: AuditFile, count: number): Promise<void> {
  await until(async () => audit.counts.written >= count || undefined);
}

/** Polls until `check` finds something. */
async function until(check: () => Promise<unknown>): Promise<void> {
  await vi.waitUntil(check, { timeout: 60_000, interval: 5 });
}
