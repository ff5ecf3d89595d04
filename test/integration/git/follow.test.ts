// Each action of a user in one of the two trees, and its effect on the other.
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { exists, prepared, together } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

describe("the worktree leads", () => {
  test.each([
    ["a commit", ["commit", "--quiet", "--allow-empty", "-m", "empty"]],
    ["an amended commit", ["commit", "--quiet", "--amend", "-m", "amended"]],
    ["a merge", ["merge", "--quiet", "--no-edit", "side"]],
    ["a merge without a fast-forward", ["merge", "--quiet", "--no-ff", "--no-edit", "side"]],
    ["a cherry-pick", ["cherry-pick", "side"]],
    ["a revert", ["revert", "--no-edit", "HEAD"]],
    ["a reset", ["reset", "--quiet", "--hard", "HEAD~1"]],
    ["a reset to something else", ["reset", "--quiet", "--hard", "side"]],
    ["a rebase", ["rebase", "--quiet", "side"]],
    ["a pull", ["pull", "--quiet", "--rebase", "origin", "side"]],
    ["a branch switch", ["switch", "--quiet", "side"]],
    ["a new branch", ["switch", "--quiet", "--create", "new"]],
    ["a renamed branch", ["branch", "--move", "renamed"]],
  ])("%s takes the main tree along", async (_, args) => {
    await using repository = await prepared();
    await repository.tree.git(...args);
    await repository.settled();
    await together(repository);
    expect(await repository.isFollowed()).toBe(true);
    expect(repository.told().filter(({ level }) => level === "error")).toEqual([]);
  });

  test("a rebase that stops leaves the main tree where it was, until it is done", async () => {
    await using repository = await prepared();
    const { main, tree } = repository;
    await tree.commit("side.txt", "conflict\n");
    await repository.settled();
    const before = await main.head();
    expect(await tree.refused("rebase", "--quiet", "side")).not.toBe("");
    await repository.settled();
    expect([await main.head(), await main.branch(), await main.status()]).toEqual([before, "feature", ""]);
    await tree.write("side.txt", "both\n");
    await tree.git("add", "side.txt");
    await tree.git("-c", "core.editor=true", "rebase", "--continue");
    await repository.settled();
    await together(repository);
    expect(await main.read("side.txt")).toBe("both\n");
  });

  test("a commit without a branch takes the main tree there, and both come back", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await tree.git("switch", "--quiet", "--detach");
    await tree.commit("alone.txt", "x\n");
    await repository.settled();
    await together(repository);
    expect(await main.branch()).toBe("");
    await tree.git("switch", "--quiet", "feature");
    await repository.settled();
    await together(repository);
    expect(await main.branch()).toBe("feature");
  });

  test("a stash in either tree moves neither, and gives back what it took", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    for (const place of [main, tree]) {
      await place.write("shared.txt", "edit\n");
      await place.git("stash");
      await repository.settled();
      await together(repository);
      await place.git("stash", "pop");
      await repository.settled();
      expect(await place.read("shared.txt")).toBe("edit\n");
      await place.git("checkout", "--", "shared.txt");
    }
  });

  test("a branch that was left can be deleted", async () => {
    await using repository = await prepared();
    await repository.tree.git("switch", "--quiet", "--create", "new");
    await repository.settled();
    await repository.tree.git("branch", "--delete", "--force", "feature");
    await repository.settled();
    await together(repository);
  });

  test("a followed branch that is torn out of the repository ends it, and no file goes", async () => {
    await using repository = await FollowRepository.following();
    const commit = await repository.main.head();
    await repository.tree.git("update-ref", "-d", "refs/heads/feature");
    await repository.settled();
    expect(await repository.isFollowed()).toBe(false);
    expect(await repository.main.read("shared.txt")).toBe("one\n");
    expect(repository.told().at(-1)?.message).toContain(commit.slice(0, 10));
  });
});

describe("the main tree", () => {
  test.each([
    ["a commit", ["commit", "--quiet", "--allow-empty", "-m", "empty"]],
    ["an amended commit", ["commit", "--quiet", "--amend", "-m", "amended"]],
    ["a merge", ["merge", "--quiet", "--no-edit", "side"]],
    ["a rebase", ["rebase", "--quiet", "side"]],
    ["a cherry-pick", ["cherry-pick", "side"]],
    ["a revert", ["revert", "--no-edit", "HEAD"]],
    ["a pull", ["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "side"]],
    ["a reset", ["reset", "--quiet", "--hard", "HEAD~1"]],
  ])("gives the worktree %s", async (_, args) => {
    await using repository = await prepared();
    const { main, tree } = repository;
    await main.git(...args);
    await repository.settled();
    await together(repository);
    expect([await tree.branch(), await tree.status()]).toEqual(["feature", ""]);
  });

  test.each([
    ["to another branch", ["switch", "--quiet", "main"]],
    ["to a new branch", ["switch", "--quiet", "--create", "new"]],
    ["to a commit", ["checkout", "--quiet", "HEAD~1"]],
  ])("ends it by a switch %s, and keeps what it switched to", async (_, args) => {
    await using repository = await prepared();
    const { main, tree } = repository;
    await main.git(...args);
    const there = [await main.branch(), await main.head()];
    await repository.settled();
    expect(await repository.isFollowed()).toBe(false);
    expect(repository.told().at(-1)).toMatchObject({
      type: "follow-disabled",
      title: "Follow Mode Disabled",
    });
    await tree.commit("more.txt", "more\n");
    await repository.settled();
    expect([await main.branch(), await main.head()]).toEqual(there);
    expect(await exists(join(main.path, ".git/hooks/post-commit"))).toBe(false);
  });

  test("does not end it by checking a file out", async () => {
    await using repository = await FollowRepository.following();
    await repository.main.write("shared.txt", "edit\n");
    await repository.main.git("checkout", "--", "shared.txt");
    await repository.settled();
    expect(await repository.isFollowed()).toBe(true);
  });
});

describe("the worktree", () => {
  test("that is removed ends it, and the main tree keeps the branch", async () => {
    await using repository = await FollowRepository.following();
    await repository.main.git("worktree", "remove", repository.tree.path);
    await repository.settled();
    expect(await repository.isFollowed()).toBe(false);
    expect(await repository.main.branch()).toBe("feature");
  });

  test("with a deleted folder ends it", async () => {
    await using repository = await FollowRepository.following();
    await rm(repository.tree.path, { recursive: true });
    await repository.settled();
    expect(await repository.isFollowed()).toBe(false);
  });

  test("in whose place another repository is by now ends it, and that one stays as it is", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await rm(tree.path, { recursive: true });
    await main.git("clone", "--quiet", ".", tree.path);
    const head = await tree.head();
    await main.commit("later.txt", "later\n");
    await repository.settled();
    expect(await repository.isFollowed()).toBe(false);
    expect([await tree.head(), await tree.branch(), await tree.status()]).toEqual([head, "feature", ""]);
  });

  test("that is moved is followed where it is", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    const moved = join(repository.directory, "moved");
    await main.git("worktree", "move", tree.path, moved);
    await main.git("-C", moved, "commit", "--quiet", "--allow-empty", "-m", "after");
    await repository.settled();
    expect(await main.head()).toBe(await main.git("-C", moved, "rev-parse", "HEAD"));
    expect(await main.git("config", "ttyhq.followWorktree")).toBe(moved);
  });

  test("that is locked and away is waited for", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await main.git("worktree", "lock", tree.path);
    await rename(tree.path, `${tree.path} away`);
    await repository.settled();
    expect(await repository.isFollowed()).toBe(true);
    await rename(`${tree.path} away`, tree.path);
    await tree.commit("back.txt", "back\n");
    await repository.settled();
    await together(repository);
  });
});
