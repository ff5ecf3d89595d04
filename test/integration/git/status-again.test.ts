// A folder that was replaced at the same path: the status is that of the new one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, renameSync, rmSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import type { GitRoom } from "../harness/git-repository.ts";
import { clean, dirty, inside, on, StatusRoom } from "./status-room.ts";

/** A copy of a repository, on the branch `again`. Returns its path. */
async function copyOnAgain(room: GitRoom, repository: string): Promise<string> {
  const copy = room.at("copy");
  cpSync(repository, copy, { recursive: true });
  await room.git(copy, "switch", "--quiet", "-c", "again");
  return copy;
}

test("a repository that is missing at one check and back before the next is recognised", async () => {
  await using place = await StatusRoom.make();
  const repository = await place.room.repository();
  const moved = place.room.at("away");
  // Nobody watches the parents of this folder.
  using one = await inside(place, join(repository, "folder"));
  using _back = one.changed.on(() => {
    if (one.status === undefined) renameSync(moved, join(repository, ".git"));
  });
  renameSync(join(repository, ".git"), moved);
  await one.until((status) => status === undefined, "no repository");
  await one.until(on("main"), "the repository");
});

test("a new session in another folder of a tree without running sessions gets the current status", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using ended = place.enter(repository, { isLive: false });
  await eventually(async () => ended.status, "the status of who has ended");
  await room.git(repository, "switch", "--quiet", "-c", "later");
  using other = place.enter(join(repository, "folder"));
  await other.until(on("later"), "the branch");
});

test("edits in a repository are seen though a program stands in the folder that was there before", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const copy = await copyOnAgain(room, repository);
  // While a process is in a folder, the system does not report its deletion.
  const program = spawn("sleep", ["600"], { cwd: repository });
  await once(program, "spawn");
  try {
    using one = await inside(place, repository);
    rmSync(repository, { recursive: true });
    cpSync(copy, repository, { recursive: true });
    await one.until((status) => on("again")(status) && clean(status), "the repository in its place");
    await appendFile(join(repository, "a.txt"), "more\n");
    await one.checked(dirty, "an edit");
  } finally {
    program.kill();
  }
});

test("a repository that was put in the place of another by a rename is the one that is watched", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const copy = await copyOnAgain(room, repository);
  using one = await inside(place, repository);
  renameSync(repository, room.at("old"));
  renameSync(copy, repository);
  await one.until(on("again"), "the repository in its place");
  await room.git(repository, "switch", "--quiet", "-c", "later");
  await one.until(on("later"), "a switch in it");
});
