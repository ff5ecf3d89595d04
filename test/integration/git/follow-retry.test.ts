import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import { mkdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readFollowSettings } from "../../../src/git/follow/settings.ts";
import { DETACHED_REF } from "../../../src/git/follow/state.ts";
import { GitProgram } from "../../../src/git/git.ts";
import { atRest } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

test("a failed check is repeated automatically", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await tree.write("new.txt", "new\n");
  await tree.git("add", "new.txt");
  const files = await tree.git("write-tree");
  const commit = await tree.git("commit-tree", "-p", "HEAD", "-m", "new", files);
  const config = join(main.path, ".git/config");
  const text = await readFile(config, "utf8");
  // git does nothing with such a config.
  await writeFile(config, `${text}[`);
  await writeFile(join(main.path, ".git/refs/heads/feature"), `${commit}\n`);
  await expect.poll(() => repository.log).toContain("it is tried again");
  // Nothing reports this change.
  await writeFile(config, text);
  await expect.poll(() => main.read("new.txt")).toBe("new\n");
});

test("so is one that a hook has asked for, when nothing else reports the change", async () => {
  await using repository = await FollowRepository.following();
  const { main } = repository;
  await atRest(repository);
  // Nothing reports this change either.
  const file = join(main.path, ".git/worktrees/tree/commondir");
  await rename(file, `${file} away`);
  await expect(repository.settled()).rejects.toMatchObject({ code: "not_a_repository" });
  const before = repository.checks;
  await rename(`${file} away`, file);
  await expect.poll(() => repository.checks).toBeGreaterThan(before);
});

test("a killed git is not taken for an empty list of followed worktrees", async () => {
  await using repository = await FollowRepository.following();
  const { main, directory, env } = repository;
  await writeFile(
    join(directory, "git"),
    `#!/bin/sh\ncase "$*" in *--list*) kill -9 $$ ;; esac\nPATH='${env.PATH}' exec git "$@"\n`,
    { mode: 0o755 },
  );
  const program = new GitProgram({ env: { ...env, PATH: `${directory}:${env.PATH}` } });
  await expect(readFollowSettings(program.at(main.path))).rejects.toMatchObject({ code: "git_failed" });
});

test("of what many say at once a few looks are taken", async () => {
  await using repository = await FollowRepository.following();
  await repository.settled();
  const before = repository.checks;
  await Promise.all(Array.from({ length: 50 }, () => repository.settled()));
  // One that had begun, and one more; a watch that sees their changes may add another.
  expect(repository.checks - before).toBeLessThan(5);
});

const followed = async ({ directory }: FollowRepository): Promise<readonly unknown[]> =>
  JSON.parse(await readFile(join(directory, "follow.json"), "utf8"));

test("a repository that is not there when the server begins is followed once it is", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  const moved = `${main.path} away`;
  await repository.restart(() => rename(main.path, moved));
  await expect.poll(() => repository.log).toContain("there is no git repository");
  expect(await followed(repository)).toHaveLength(1);
  await rename(moved, main.path);
  await tree.commit("new.txt", "new\n");
  await expect.poll(() => main.read("new.txt")).toBe("new\n");
});

test("a disk inside another repository that is not there when the server begins is waited for", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree, directory } = repository;
  const moved = `${main.path} away`;
  await repository.restart(async () => {
    await main.git("init", "--quiet", directory);
    await rename(main.path, moved);
    // Where it is mounted.
    await mkdir(main.path);
  });
  await atRest(repository);
  expect(await followed(repository)).toHaveLength(1);
  expect(repository.log).toContain("there is no git repository");
  await rmdir(main.path);
  await rename(moved, main.path);
  await tree.commit("new.txt", "new\n");
  await expect.poll(() => main.read("new.txt")).toBe("new\n");
});

test("a repository that is never there is forgotten in the end", async () => {
  await using repository = await FollowRepository.following();
  await repository.restart(() => rm(repository.main.path, { recursive: true }));
  await expect.poll(() => repository.log).toContain("there is no git repository");
  repository.laterMs = 86_400_000;
  await expect.poll(() => followed(repository)).toEqual([]);
});

test("a repository that is not there for a moment, as when it is put in place of another, is followed", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  const moved = `${main.path} away`;
  await atRest(repository);
  repository.onLog = (line) => {
    if (line.includes("there is no git repository")) renameSync(moved, main.path);
  };
  await rename(main.path, moved);
  // A check at the moment without it.
  await writeFile(join(moved, ".git/packed-refs"), "");
  await expect.poll(() => main.branch().catch(() => "none")).toBe("feature");
  await tree.commit("new.txt", "new\n");
  await expect.poll(() => main.read("new.txt")).toBe("new\n");
  expect(await followed(repository)).toHaveLength(1);
});

test("a worktree that is removed and made again at its place is seen", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree, env } = repository;
  await main.git("branch", "side");
  await atRest(repository);
  // There is no check between the two.
  for (const args of [
    ["remove", "--force", tree.path],
    ["add", "--quiet", "--force", tree.path, "feature"],
  ])
    execFileSync("git", ["worktree", ...args], { cwd: main.path, env });
  await atRest(repository);
  await tree.git("switch", "--quiet", "side");
  await expect.poll(() => main.branch()).toBe("side");
});

test("what a killed server noted of a detached HEAD is not taken for the user's own", async () => {
  await using repository = await FollowRepository.following();
  const { main } = repository;
  await repository.restart(async () => void (await main.git("update-ref", DETACHED_REF, "HEAD")));
  await repository.settled();
  await main.git("checkout", "--quiet", "--detach");
  await repository.settled();
  expect([await repository.isFollowed(), await main.branch()]).toEqual([false, ""]);
});
