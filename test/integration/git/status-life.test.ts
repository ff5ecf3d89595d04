// Readings of git status: one for all sessions of a tree, while a program runs there, and without running code.
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { dirty, inside, on, StatusRoom, watchesOf } from "./status-room.ts";

const run = promisify(execFile);
const EXHAUSTED = fileURLToPath(new URL("status-exhausted.ts", import.meta.url));
/** A namespace in which the system's limits may be lowered. */
const hasNamespaces = spawnSync("unshare", ["--map-root-user", "true"]).status === 0;

test("outside a repository there are no status, and no git is run for them", async () => {
  await using place = await StatusRoom.make();
  const folder = place.room.at("plain/folder");
  await mkdir(folder, { recursive: true });
  using one = place.enter(folder);
  using other = await inside(place, await place.room.repository());
  expect(other.status).toMatchObject({ gitBranch: "main" });
  const runs = await place.runs();
  await place.room.git(folder, "init", "--quiet", "--initial-branch", "begun");
  await one.checked(on("begun"), "a repository that begins there");
  expect(runs).toBeLessThanOrEqual(6);
});

test("ten sessions of one working tree share its readings and its watches", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using _first = await inside(place, repository);
  const [runs, watches] = [await place.runs(), await watchesOf("self")];
  const others = Array.from({ length: 10 }, () => place.enter(repository));
  expect(others.map(({ status }) => status?.gitBranch)).toEqual(Array(10).fill("main"));
  await room.git(repository, "switch", "--quiet", "-c", "shared");
  await Promise.all(others.map((one) => one.until(on("shared"), "the branch")));
  expect(await watchesOf("self")).toBe(watches);
  // Some readings for the viewers, and some for the switch; not ten times as many.
  expect((await place.runs()) - runs).toBeLessThan(30);
  for (const one of others) one[Symbol.dispose]();
});

test("asking two hundred times runs no git", async () => {
  await using place = await StatusRoom.make();
  using one = await inside(place, await place.room.repository());
  const runs = await place.runs();
  for (let times = 0; times < 200; times++) {
    place.live.check();
    expect(one.status).toMatchObject({ gitBranch: "main" });
  }
  await place.room.git(one.status?.gitRepoPath ?? "", "switch", "--quiet", "-c", "after");
  await one.until(on("after"), "the branch");
  // Readings for the switch alone, with three to five gits each.
  expect((await place.runs()) - runs).toBeLessThan(25);
});

test("an ended session keeps its status, and after the last one nothing is watched", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const before = await watchesOf("self");
  const repository = await room.repository();
  const one = await inside(place, repository);
  const other = await inside(place, repository);
  expect(await watchesOf("self")).toBeGreaterThan(before);
  one.presence.ended();
  await room.git(repository, "switch", "--quiet", "-c", "later");
  await one.until(on("later"), "the branch, as somebody is there still");
  other.presence.ended();
  expect(await watchesOf("self")).toBe(before);
  await room.git(repository, "switch", "--quiet", "main");
  using third = await inside(place, repository);
  await third.until(on("main"), "the branch for who comes new");
  third[Symbol.dispose]();
  one[Symbol.dispose]();
  other[Symbol.dispose]();
  expect(one.status).toBeUndefined();
  expect(await watchesOf("self")).toBe(before);
});

test("one that has ended before it was known is looked at once and not watched", async () => {
  await using place = await StatusRoom.make();
  const before = await watchesOf("self");
  const repository = await place.room.repository();
  using one = place.enter(repository, { isLive: false });
  await eventually(async () => one.status?.gitBranch, "the branch");
  expect(await watchesOf("self")).toBe(before);
  // Thousands of ended sessions must not cause an event each.
  expect(one.changes).toBe(0);
});

test("a change during a reading is not lost", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  for (let round = 0; round < 30; round++) await room.git(repository, "switch", "--quiet", "-c", `b${round}`);
  await one.until(on("b29"), "the last of thirty branches");
  expect(one.changes).toBeLessThan(32);
});

test("a hostile repository runs no code", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const trap = await room.script(room.at("trap"), `touch ${room.at("sprung")}; cat`);
  await room.git(repository, "config", "core.fsmonitor", `touch ${room.at("sprung")}; false`);
  await room.git(repository, "config", "filter.x.clean", trap);
  await room.write(join(repository, ".gitattributes"), "* filter=x\n");
  await room.git(repository, "status");
  expect(existsSync(room.at("sprung"))).toBe(true);
  await rm(room.at("sprung"));
  using one = await inside(place, repository);
  await room.append(join(repository, "a.txt"), "more\n");
  await one.checked(dirty, "an edit");
  expect(existsSync(room.at("sprung"))).toBe(false);
});

test("a list checks for edits, at most every five seconds", async () => {
  let nowMs = 10_000;
  await using place = await StatusRoom.make({ now: () => nowMs });
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  const runs = await place.runs();
  await room.append(join(repository, "a.txt"), "more\n");
  for (let times = 0; times < 200; times++) place.live.check();
  expect(one.status).toMatchObject({ gitHasChanges: false });
  nowMs += 5_001;
  for (let times = 0; times < 200; times++) place.live.check();
  await one.until(dirty, "the edit, once it was asked for");
  // The repository's config and the status; possibly a remaining one of the start.
  expect((await place.runs()) - runs).toBeLessThan(10);
});

test("a hook's event is enough without other signs of a change", async () => {
  await using place = await StatusRoom.make();
  const repository = await place.room.repository();
  const tree = await place.room.worktree(repository, "side");
  using one = await inside(place, tree);
  await place.room.append(join(tree, "a.txt"), "more\n");
  place.live.changed(join(repository, ".git"));
  await one.until(dirty, "an edit");
});

test.runIf(hasNamespaces)(
  "a system that has no watches left is told of once, and asked for instead",
  async () => {
    const { stdout } = await run("unshare", ["--map-root-user", process.execPath, EXHAUSTED]);
    const warning = "no more folders can be watched: git status is read when it is asked for";
    expect(JSON.parse(stdout)).toEqual({ before: "main", after: "unseen", warnings: [warning] });
  },
);

test("of more folders than there is room for, those where nothing runs are forgotten", async () => {
  await using place = await StatusRoom.make();
  const repository = await place.room.repository();
  using ended = place.enter(repository, { isLive: false });
  await eventually(async () => ended.status, "the status of who has ended");
  for (const name of ["late", "later"]) await mkdir(join(repository, name));
  // Outside the repository: no git runs for them.
  const living = Array.from({ length: 999 }, (_, index) => place.enter(place.room.at(`plain/f${index}`)));
  using last = await inside(place, join(repository, "folder"));
  using late = place.enter(join(repository, "late"));
  await place.room.git(repository, "switch", "--quiet", "-c", "after");
  await last.until(on("after"), "the branch of the last that had room");
  expect(late.status).toBeUndefined();
  for (const one of living) one[Symbol.dispose]();
  using _later = await inside(place, join(repository, "later"));
});
