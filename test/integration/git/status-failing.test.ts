// Failed readings of a git status, and answers that nobody needs any more.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { GIT_CACHE_MS } from "../../../src/git/git-limits.ts";
import { inside, on, StatusRoom } from "./status-room.ts";

async function there(path: string): Promise<void> {
  await eventually(async () => existsSync(path) || undefined, path);
}

test("a first reading whose git is killed is repeated automatically", async () => {
  await using place = await StatusRoom.make();
  const repository = await place.room.repository();
  const killed = place.room.at("killed");
  await place.first(`touch ${killed}; kill -9 $$`);
  using one = place.enter(repository);
  await there(killed);
  await place.first("");
  expect(await one.known()).toMatchObject({ gitBranch: "main" });
});

test("a reading whose git is killed is repeated, even after the end of the last session", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  const kills = room.at("kills");
  await place.first(`case "$*" in *" status "*) echo >>${kills}; kill -9 $$;; esac`);
  await room.git(repository, "switch", "--quiet", "-c", "later");
  one.presence.ended();
  await writeFile(kills, "");
  // One may have begun before the end.
  await eventually(async () => (await readFile(kills)).length >= 2 || undefined, "two looks");
  expect(one.status).toMatchObject({ gitBranch: "main" });
  await place.first("");
  await eventually(async () => on("later")(one.status) || undefined, "the branch");
});

test("a repository that comes above a folder is found by a list five seconds later", async () => {
  let nowMs = 10_000;
  await using place = await StatusRoom.make({ now: () => nowMs });
  const { room } = place;
  await mkdir(room.at("project/folder"), { recursive: true });
  using one = place.enter(room.at("project/folder"));
  // The first one was read by now.
  using _other = await inside(place, await room.repository());
  await room.git(room.at("project"), "init", "--quiet");
  place.live.check();
  expect(one.status).toBeUndefined();
  nowMs += GIT_CACHE_MS + 1;
  place.live.check();
  await one.until(on("main"), "the repository");
});

test("a late result for a tree that all sessions have left does not affect later sessions", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const one = await inside(place, repository);
  const [gate, held] = [room.at("gate"), room.at("held")];
  await promisify(execFile)("mkfifo", [gate]);
  const late = `echo $$ >${held}.new; mv ${held}.new ${held}; read -r _ <${gate}; echo "fatal: not a git repository" >&2; exit 128`;
  await place.first(`case "$*" in *" status "*) [ -e ${held} ] || { ${late}; };; esac`);
  place.live.changed(join(repository, ".git"));
  await there(held);
  one[Symbol.dispose]();
  using other = await inside(place, repository);
  let losses = 0;
  using _losing = other.changed.on(() => {
    if (other.status === undefined) losses++;
  });
  await using fifo = await open(gate, "r+");
  await fifo.write("go\n");
  const pid = (await readFile(held, "utf8")).trim();
  await eventually(async () => !existsSync(`/proc/${pid}`) || undefined, "the end of that git");
  await room.git(repository, "switch", "--quiet", "-c", "later");
  await other.until(on("later"), "what is told after it");
  expect(losses).toBe(0);
});

test("a git directory whose working tree is elsewhere has no status, and is not read over and over", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  await room.git(room.path, "init", "--quiet", "--separate-git-dir", room.at("apart"), room.at("tree"));
  using one = place.enter(room.at("apart"));
  using _other = await inside(place, await room.repository());
  const runs = await place.runs();
  using later = await inside(place, await room.repository("later"));
  expect(later.status).toMatchObject({ gitBranch: "main" });
  expect(one.status).toBeUndefined();
  // Only those of the later one.
  expect((await place.runs()) - runs).toBeLessThan(12);
});
