// Changes of one tree while follow mode updates the other.
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKED_OUT, DETACHED_REF } from "../../../src/git/follow/state.ts";
import { detach, release } from "../../../src/git/follow/steps.ts";
import { GitProgram } from "../../../src/git/git.ts";
import { holdBack, together } from "./follow-checks.ts";
import { FollowRepository, type WorkTree } from "./follow-repository.ts";

/** A commit that is on no branch yet, with one more file. */
async function nextCommit({ tree }: FollowRepository, name: string): Promise<string> {
  const commit = await tree.commit(name, `${name}\n`);
  await tree.git("reset", "--quiet", "--hard", "HEAD~1");
  return commit;
}

/** When git writes the file `moving.txt` in that tree, the branch moves to the commit, once. */
async function moveMeanwhile({ directory }: FollowRepository, main: WorkTree, commit: string): Promise<void> {
  const program = join(directory, "moving");
  const once = join(directory, "moved");
  const move = `git --git-dir='${main.path}/.git' update-ref refs/heads/feature ${commit}`;
  await writeFile(program, `#!/bin/sh\n[ -e '${once}' ] || { : > '${once}'; ${move}; }\nexec cat\n`);
  await chmod(program, 0o755);
  await main.git("config", "filter.moving.smudge", program);
  await main.git("config", "filter.moving.clean", "cat");
  await main.write(".git/info/attributes", "moving.txt filter=moving\n");
}

test("a commit that is made while the main tree joins the branch comes along", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  await tree.commit("moving.txt", "moving\n");
  await moveMeanwhile(repository, main, await nextCommit(repository, "next.txt"));
  await repository.enable();
  await repository.settled();
  await together(repository);
  for (const one of [main, tree]) {
    expect([await one.read("next.txt"), await one.status(), await one.branch()]).toEqual([
      ...["next.txt\n", "", "feature"],
    ]);
  }
});

test("a commit that is made while the main tree comes along comes along, too", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  const last = await (async () => {
    await tree.commit("moving.txt", "moving\n");
    return await nextCommit(repository, "next.txt");
  })();
  await repository.settled();
  await together(repository);
  await moveMeanwhile(repository, main, last);
  await tree.commit("moving.txt", "moved\n");
  await repository.settled();
  await repository.settled();
  for (const one of [main, tree]) {
    expect([await one.read("next.txt"), await one.head(), await one.status()]).toEqual([
      "next.txt\n",
      last,
      "",
    ]);
  }
});

test("nor is a commit missed that was made while a server that joined was killed", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  await main.git("checkout", "--quiet", "--detach", "feature");
  await tree.commit("next.txt", "next\n");
  await main.git("symbolic-ref", "-m", CHECKED_OUT, "HEAD", "refs/heads/feature");
  expect(await main.status()).toBe("D  next.txt");
  await repository.enable();
  await together(repository);
  expect(await main.read("next.txt")).toBe("next\n");
});

/** Commits once, on the current HEAD, like a user who is faster than follow mode. */
async function committer({ directory }: FollowRepository, main: WorkTree): Promise<string> {
  const once = join(directory, "committed");
  const commit = `git -C '${main.path}' -c core.hooksPath=/dev/null -c user.name=a -c user.email=a@example.com commit`;
  return `[ -e '${once}' ] || { : > '${once}'; ${commit} --quiet --allow-empty -m meanwhile >/dev/null </dev/null; }`;
}

/** Off the branch, with edits that no longer block it. */
async function heldBack(): Promise<FollowRepository> {
  const repository = await FollowRepository.following();
  const { main } = repository;
  await holdBack(repository);
  expect(await main.branch()).toBe("");
  return repository;
}

/** The commit stays in its tree, is reported, and a merge joins the trees. */
async function isKept(repository: FollowRepository): Promise<void> {
  const { main, tree } = repository;
  const commit = await main.git("log", "--walk-reflogs", "-1", "--format=%H", "--grep=meanwhile", "HEAD");
  expect([await main.head(), await main.branch(), await main.status()]).toEqual([commit, "", ""]);
  expect(repository.told().at(-1)?.message).toContain("on no branch");
  await tree.git("merge", "--quiet", "--no-edit", commit);
  await repository.settled();
  await together(repository);
}

test("a commit on no branch is kept that was made just before the main tree joined the branch", async () => {
  await using repository = await heldBack();
  const { main, directory } = repository;
  const program = join(directory, "cleaning");
  await writeFile(program, `#!/bin/sh\n${await committer(repository, main)}\nexec cat\n`);
  await chmod(program, 0o755);
  await main.git("config", "filter.cleaning.clean", program);
  await main.git("checkout", "--quiet", "--", "shared.txt");
  await main.write(".git/info/attributes", "shared.txt filter=cleaning\n");
  // Touched: git reads it with the filter when follow mode checks for blocking files.
  await main.write("shared.txt", "one\n");
  await repository.settled();
  await isKept(repository);
});

test("so is one that was made when it had the files, and not the branch yet", async () => {
  await using repository = await heldBack();
  const { main } = repository;
  const hook = join(main.path, ".git/hooks/post-checkout");
  await writeFile(hook, `#!/bin/sh\n${await committer(repository, main)}\n`);
  await chmod(hook, 0o755);
  await main.git("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--", "shared.txt");
  await repository.settled();
  await isKept(repository);
});

test("a commit on old files is reported that was made just before the main tree left the branch", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree, directory } = repository;
  const program = join(directory, "cleaning");
  await writeFile(program, `#!/bin/sh\n${await committer(repository, main)}\nexec cat\n`);
  await chmod(program, 0o755);
  await repository.restart(async () => {
    await tree.commit("shared.txt", "theirs\n");
    await main.write("shared.txt", "mine\n");
    await main.git("config", "filter.cleaning.clean", program);
    await main.write(".git/info/attributes", "shared.txt filter=cleaning\n");
  });
  const titles: string[] = [];
  const told = (): readonly string[] => {
    titles.push(...repository.told().map(({ title }) => title));
    return titles;
  };
  await expect.poll(told).toContain("Commit On Old Files");
  await repository.settled();
  expect(await main.git("log", "-1", "--format=%s")).toBe("meanwhile");
  expect([await main.branch(), await main.head(), await main.read("shared.txt")]).toEqual([
    ...["feature", await tree.head(), "mine\n"],
  ]);
});

test("a detached main tree at the branch's commit checks out the branch", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  await main.commit("older.txt", "older\n");
  await main.git("checkout", "--quiet", "--detach", "feature");
  expect(await repository.enable()).toMatchObject({ synced: true });
  await together(repository);
  await tree.git("switch", "--quiet", "--detach");
  await repository.settled();
  await tree.git("switch", "--quiet", "feature");
  await repository.settled();
  await together(repository);
  expect(await main.branch()).toBe("feature");
});

test("a git command that is about to move HEAD is waited for, as that of a hook", async () => {
  await using repository = await FollowRepository.make();
  const { main, env } = repository;
  const commit = await main.head();
  // By default git itself waits for 100 ms.
  await main.git("config", "core.filesRefLockTimeout", "0");
  await main.write(".git/HEAD.lock", "");
  const detached = detach(new GitProgram({ env }).at(main.path), commit, undefined);
  await expect.poll(() => main.git("for-each-ref", DETACHED_REF)).not.toBe("");
  await rm(join(main.path, ".git/HEAD.lock"));
  expect(await detached).toBeUndefined();
  expect([await main.branch(), await main.head()]).toEqual(["", commit]);
});

test("a main tree that leaves the branch just before follow mode ends stays where it went", async () => {
  await using repository = await FollowRepository.following();
  const { main, env } = repository;
  const commit = await main.head();
  await main.git("switch", "--quiet", "main");
  await main.commit("own.txt", "own\n");
  const before = await main.head();
  await release(new GitProgram({ env }).at(main.path), "feature", commit);
  expect([await main.branch(), await main.head(), await main.status()]).toEqual(["main", before, ""]);
});
