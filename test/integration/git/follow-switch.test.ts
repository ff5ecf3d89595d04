// Switching follow mode on and off, and reading its state.
import { chmod, mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MAX_FOLLOWED_OF_USER } from "../../../src/git/git-limits.ts";
import { exists, together } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

describe("turned on", () => {
  test("the main tree joins the branch of the worktree, which git alone refuses", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await tree.commit("new.txt", "new\n");
    expect(await main.refused("switch", "feature")).toContain("already");
    const reply = await repository.enable();
    expect(reply).toMatchObject({ enabled: true, synced: true, branch: "feature", worktreePath: tree.path });
    await together(repository);
    expect(await main.read("new.txt")).toBe("new\n");
    expect(await main.git("config", "ttyhq.followWorktree")).toBe(tree.path);
  });

  test("a preview says what would happen and what is in the way, and changes nothing", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await tree.commit("shared.txt", "two\n");
    await main.write("shared.txt", "mine\n");
    const before = [
      await main.git("config", "--local", "--list"),
      await main.git("for-each-ref"),
      await main.status(),
    ];
    const request = { repoPath: main.path, branch: "feature", user: "somebody" };
    const reply = await repository.follow.enable({ ...request, dryRun: true });
    expect(reply.steps.join("\n")).toMatch(/switches to branch 'feature'(?:.|\n)*in the way \(shared\.txt\)/);
    expect(reply.synced).toBe(false);
    expect([
      await main.git("config", "--local", "--list"),
      await main.git("for-each-ref"),
      await main.status(),
    ]).toEqual(before);
    expect(await exists(join(main.path, ".git/hooks/post-commit"))).toBe(false);
  });

  test("a user follows at most the limit of repositories, and others can follow theirs", async () => {
    await using repository = await FollowRepository.make();
    const { directory, main } = repository;
    const entries = Array.from({ length: MAX_FOLLOWED_OF_USER }, (_, index) => ({
      repoPath: join(directory, `elsewhere-${index}`),
      user: "somebody",
      hookFolders: [],
    }));
    await repository.restart(() => writeFile(join(directory, "follow.json"), JSON.stringify(entries)));
    await expect(repository.enable()).rejects.toMatchObject({ message: expect.stringContaining("of yours") });
    expect(await repository.isFollowed()).toBe(false);
    const request = { repoPath: main.path, branch: "feature" };
    const others = await repository.follow.enable({ ...request, user: "another" });
    expect(others).toMatchObject({ enabled: true });
  });

  test("edits that are in the way stay, and the main tree joins once they are gone", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await tree.commit("shared.txt", "two\n");
    await main.write("shared.txt", "mine\n");
    expect(await repository.enable()).toMatchObject({ enabled: true, synced: false });
    expect([await main.branch(), await main.read("shared.txt")]).toEqual(["main", "mine\n"]);
    await main.git("stash");
    await repository.settled();
    await together(repository);
  });

  test("edits that are not in the way come along", async () => {
    await using repository = await FollowRepository.make();
    await repository.tree.commit("other.txt", "two\n");
    await repository.main.write("shared.txt", "mine\n");
    expect(await repository.enable()).toMatchObject({ synced: true });
    expect(await repository.main.status()).toBe(" M shared.txt");
  });

  test("an unknown branch, the main tree's own and a bare repository are refused", async () => {
    await using repository = await FollowRepository.make();
    await expect(repository.enable("nowhere")).rejects.toMatchObject({ code: "worktree_not_found" });
    await expect(repository.enable("main")).rejects.toMatchObject({ code: "worktree_not_found" });
    await expect(repository.enable("--force")).rejects.toMatchObject({ code: "invalid_branch_name" });
    const unnamed = { repoPath: repository.main.path, user: "somebody" };
    await expect(repository.follow.enable(unnamed)).rejects.toMatchObject({ code: "invalid_request" });
    const bare = join(repository.directory, "bare.git");
    await repository.main.git("clone", "--quiet", "--bare", ".", bare);
    const request = { repoPath: bare, branch: "feature", user: "somebody" };
    await expect(repository.follow.enable(request)).rejects.toMatchObject({ code: "not_a_repository" });
  });
});

test("a worktree that was moved by hand is not taken for the main tree, until git knows its place", async () => {
  await using repository = await FollowRepository.make();
  const moved = `${repository.tree.path}-moved`;
  await rename(repository.tree.path, moved);
  const request = { repoPath: moved, user: "somebody" };
  await expect(repository.follow.enable(request)).rejects.toMatchObject({
    code: "worktree_not_found",
    message: `git looks for the worktree ${moved} elsewhere: run \`git worktree repair\` in it`,
  });
  await repository.main.git("worktree", "repair", moved);
  expect(await repository.follow.enable(request)).toMatchObject({ enabled: true, worktreePath: moved });
});

describe("turned on, and failed,", () => {
  test("once everything was put in place, it goes on by itself", async () => {
    await using repository = await FollowRepository.make();
    const { main } = repository;
    const lock = join(main.path, ".git/config.lock");
    await main.write(".git/hooks/post-checkout", `#!/bin/sh\n: > '${lock}'\n`);
    await chmod(join(main.path, ".git/hooks/post-checkout"), 0o755);
    await expect(repository.enable()).rejects.toMatchObject({ code: "git_failed" });
    await rm(lock);
    await expect.poll(() => main.git("config", "ttyhq.followBranch")).toBe("feature");
    await together(repository);
  });

  test("for another worktree, the one before is followed", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree, directory } = repository;
    const hooks = join(main.path, ".git/hooks");
    await main.git("worktree", "add", "--quiet", "-b", "other", join(directory, "other"));
    await rm(hooks, { recursive: true });
    await writeFile(hooks, "", { mode: 0o755 });
    await expect(repository.enable("other")).rejects.toThrow("EEXIST");
    expect(await main.git("config", "ttyhq.followWorktree")).toBe(tree.path);
    expect(await main.git("config", "ttyhq.followBranch")).toBe("feature");
    await tree.commit("new.txt", "new\n");
    await repository.settled();
    await together(repository);
  });

  test("by another user, as its list cannot be stored, it tells the user that it told before", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree, directory } = repository;
    const told = () =>
      repository.notices.take({ user: "somebody", client: "" }, ({ user }) => user === "somebody");
    const file = join(directory, "follow.json");
    told();
    await rename(file, `${file}.away`);
    // No file takes the place of a folder.
    await mkdir(file);
    const request = { repoPath: main.path, branch: "feature", user: "other" };
    await expect(repository.follow.enable(request)).rejects.toThrow("EISDIR");
    await rmdir(file);
    await tree.commit("new.txt", "new\n");
    await repository.settled();
    expect(told()).toMatchObject([{ type: "main-synced" }]);
  });
});

describe("turned off", () => {
  test("the main tree stays at its commit, and nothing of follow mode is left", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await main.git("config", "ttyhq.other", "mine");
    const config = await main.read(".git/config");
    await repository.enable();
    await repository.disable();
    await repository.disable();
    const head = await main.head();
    await tree.commit("later.txt", "later\n");
    await repository.settled();
    expect([await main.head(), await main.status(), await main.branch()]).toEqual([head, "", ""]);
    expect(await main.read(".git/config")).toBe(config);
    expect(await main.git("for-each-ref", "refs/worktree")).toBe("");
    expect(await exists(join(main.path, ".git/hooks/post-commit"))).toBe(false);
  });

  test("it is off although git cannot read the worktree, and the main tree releases the branch", async () => {
    await using repository = await FollowRepository.following();
    const { main, directory } = repository;
    const broken = join(main.path, ".git/worktrees/tree/commondir");
    const kept = join(directory, "commondir");
    await rename(broken, kept);
    expect(await repository.disable()).toMatchObject({ success: true, enabled: false });
    await rename(kept, broken);
    expect([await main.branch(), await main.status(), await repository.isFollowed()]).toEqual([
      "",
      "",
      false,
    ]);
    expect(await exists(join(main.path, ".git/hooks/post-commit"))).toBe(false);
  });

  test("by hand, in the repository's config, it is off as well", async () => {
    await using repository = await FollowRepository.following();
    await repository.main.git("config", "--unset", "ttyhq.followWorktree");
    await repository.settled();
    expect(await exists(join(repository.main.path, ".git/hooks/post-commit"))).toBe(false);
  });
});

test("turned on for another worktree, the main tree catches up with the one before first", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree, directory } = repository;
  await repository.restart(async () => {
    // Nothing is checked before the request.
    await rm(join(directory, "follow.json"));
    await tree.commit("shared.txt", "two\n");
    await tree.git("worktree", "add", "--quiet", "-b", "other", join(directory, "other"));
  });
  await repository.enable("other");
  expect([await main.branch(), await main.status(), await main.read("shared.txt")]).toEqual([
    ...["other", "", "two\n"],
  ]);
});
