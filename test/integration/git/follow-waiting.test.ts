// A blocking file disappears, without a change of git's own files.
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { atRest, holdBack } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

test("a file that git does not track is moved away", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await main.write("untracked.txt", "mine\n");
  await tree.commit("untracked.txt", "theirs\n");
  await repository.settled();
  expect(await main.read("untracked.txt")).toBe("mine\n");
  await rm(join(main.path, "untracked.txt"));
  await expect.poll(() => main.read("untracked.txt")).toBe("theirs\n");
});

test("an edit is undone in the editor", async () => {
  await using repository = await FollowRepository.following();
  const { main } = repository;
  await holdBack(repository);
  await atRest(repository);
  await main.write("shared.txt", "one\n");
  await expect.poll(() => main.read("shared.txt")).toBe("theirs\n");
  expect(repository.told().filter(({ level }) => level === "error")).toHaveLength(1);
});

test("a running git there is aborted", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await main.write(".git/index.lock", "");
  await tree.commit("new.txt", "new\n");
  await repository.settled();
  expect(await main.branch()).toBe("");
  await rm(join(main.path, ".git/index.lock"));
  await expect.poll(() => main.branch()).toBe("feature");
  expect(await main.read("new.txt")).toBe("new\n");
});

test("commits that were on no branch get a tag", async () => {
  await using repository = await FollowRepository.following();
  const { main } = repository;
  await holdBack(repository);
  await main.git("commit", "--quiet", "--all", "-m", "mine");
  await repository.settled();
  expect(await main.branch()).toBe("");
  await main.git("tag", "saved");
  await expect.poll(() => main.branch()).toBe("feature");
  expect(await main.read("shared.txt")).toBe("theirs\n");
});

test("the disk of the worktree comes back", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await main.git("worktree", "lock", tree.path);
  await rename(tree.path, `${tree.path} away`);
  await main.commit("new.txt", "new\n");
  await repository.settled();
  await rename(`${tree.path} away`, tree.path);
  await expect.poll(() => tree.read("new.txt")).toBe("new\n");
});
