// The git status of sessions' folders, on real repositories: git's own commands are seen at once, edits at the next
// check.
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { GitStatus } from "../../../src/protocol/schemas/session.ts";
import { clean, dirty, inside, on, StatusRoom } from "./status-room.ts";

const UNTOUCHED = { gitModifiedCount: 0, gitStagedCount: 0, gitDeletedCount: 0, gitAddedCount: 0 };

test("a repository's branch is known, and followed through switches, a detached head and a rename", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  expect(one.status).toEqual({
    ...{ gitRepoPath: repository, gitMainRepoPath: repository, gitIsWorktree: false },
    ...{ gitBranch: "main", gitHasChanges: false, ...UNTOUCHED },
  });
  await room.git(repository, "switch", "--quiet", "-c", "team/feature");
  await one.until(on("team/feature"), "the new branch");
  await room.git(repository, "checkout", "--quiet", "--detach");
  await one.until(on(""), "a detached head");
  await room.git(repository, "switch", "--quiet", "main");
  await one.until(on("main"), "the main branch");
  await room.git(repository, "branch", "-m", "trunk");
  await one.until(on("trunk"), "the renamed branch");
});

test("a repository without a commit is on the branch that it will have", async () => {
  await using place = await StatusRoom.make();
  const path = place.room.at("empty");
  await mkdir(path);
  await place.room.git(path, "init", "--quiet");
  using one = await inside(place, path);
  expect(one.status).toMatchObject({ gitBranch: "main", gitHasChanges: false });
  await place.room.git(path, "commit", "--quiet", "--allow-empty", "-m", "first");
  await place.room.git(path, "switch", "--quiet", "-c", "next");
  await one.until(on("next"), "the next branch");
});

test("edits, staged files and deletions make it dirty; a commit, a reset or the old text make it clean again", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, join(repository, "folder"));
  const file = join(repository, "folder/b.txt");
  await room.append(file, "more\n");
  await one.checked(dirty, "an edit");
  await room.commit(repository);
  await one.until(clean, "a commit");
  await rm(file);
  await one.checked(dirty, "a deleted file");
  await room.git(repository, "reset", "--quiet", "--hard");
  await one.until(clean, "a reset");
  await room.write(join(repository, "new.txt"), "new\n");
  await room.git(repository, "add", "new.txt");
  await one.until(dirty, "a staged file");
  await room.git(repository, "rm", "--quiet", "--cached", "new.txt");
  await one.until(clean, "a file taken back");
  await room.append(join(repository, "a.txt"), "more\n");
  await one.checked(dirty, "another edit");
  await room.write(join(repository, "a.txt"), "one\ntwo\nthree\n");
  await one.checked(clean, "the old text");
});

test("files that git does not track are counted, and are no changes", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  await room.write(join(repository, "untracked.txt"), "x\n");
  const counted = await one.checked((status) => status?.gitAddedCount === 1, "the file");
  expect(counted).toMatchObject({ gitHasChanges: false, gitModifiedCount: 0 });
  await rm(join(repository, "untracked.txt"));
  await one.checked((status) => status?.gitAddedCount === 0, "no file");
});

test("edits in a folder that came with a commit are seen like others", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  await room.write(join(repository, "deep/er/c.txt"), "c\n");
  await room.commit(repository);
  await room.git(repository, "switch", "--quiet", "-c", "with-deeper");
  await one.until(on("with-deeper"), "the branch");
  await room.append(join(repository, "deep/er/c.txt"), "c\n");
  await one.checked(dirty, "an edit in the new folder");
  await room.git(repository, "checkout", "--quiet", "--", ".");
  await one.checked(clean, "the old text");
  await rename(join(repository, "deep"), join(repository, "moved"));
  await one.checked(dirty, "a folder that moved away");
  await rename(join(repository, "moved"), join(repository, "deep"));
  await one.checked(clean, "the folder back in its place");
});

test("ahead and behind are counted against the upstream, and only where there is one", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const origin = await room.repository("origin");
  const clone = room.at("clone");
  await room.git(room.path, "clone", "--quiet", origin, clone);
  using one = await inside(place, clone);
  expect(one.status).toMatchObject({ gitAheadCount: 0, gitBehindCount: 0 });
  const counts = (ahead: number | undefined, behind: number | undefined) => (status: GitStatus | undefined) =>
    status !== undefined && status.gitAheadCount === ahead && status.gitBehindCount === behind;
  await room.commit(clone);
  await one.until(counts(1, 0), "a commit ahead");
  await room.commit(origin);
  await room.commit(origin);
  await room.git(clone, "fetch", "--quiet");
  await one.until(counts(1, 2), "two commits behind");
  await room.git(clone, "pull", "--quiet", "--rebase");
  await one.until(counts(1, 0), "rebased");
  await room.git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/side");
  await room.git(clone, "branch", "--quiet", "--set-upstream-to", "origin/side");
  await one.until(counts(0, 0), "another upstream");
  await room.git(clone, "branch", "--quiet", "--unset-upstream");
  await one.until(counts(undefined, undefined), "no upstream");
});

test("a linked worktree names its main repository, and the branch moved from there is seen here", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const tree = await room.worktree(repository, "side");
  await room.git(tree, "branch", "--quiet", "--set-upstream-to", "main");
  using one = await inside(place, tree);
  expect(one.status).toEqual({
    ...{ gitRepoPath: tree, gitMainRepoPath: repository, gitIsWorktree: true },
    ...{ gitBranch: "side", gitAheadCount: 0, gitBehindCount: 0, gitHasChanges: false, ...UNTOUCHED },
  });
  await room.commit(repository);
  await one.until((status) => status?.gitBehindCount === 1, "a commit in the main tree");
  await room.git(repository, "worktree", "remove", "--force", tree);
  await one.until((status) => status === undefined, "no worktree");
});

test("a worktree's folder that is removed without git's knowledge is no repository any more", async () => {
  await using place = await StatusRoom.make();
  const repository = await place.room.repository();
  const tree = await place.room.worktree(repository, "side");
  using one = await inside(place, tree);
  await rm(tree, { recursive: true });
  await one.until((status) => status === undefined, "no worktree");
});

test("a repository that is deleted has no status, and one that is made there has its own", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using one = await inside(place, repository);
  await rm(join(repository, ".git"), { recursive: true });
  await one.until((status) => status === undefined, "no repository");
  await room.git(repository, "init", "--quiet", "--initial-branch", "again");
  await one.checked(on("again"), "the new repository");
  await rm(repository, { recursive: true });
  await one.checked((status) => status === undefined, "no folder");
  await mkdir(repository);
  await room.git(repository, "init", "--quiet", "--initial-branch", "third");
  await one.checked(on("third"), "the third repository");
});

test("a repository inside another one is told from it when it comes and when it goes", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const outer = await room.repository("outer");
  const inner = join(outer, "folder");
  using one = await inside(place, inner);
  expect(one.status).toMatchObject({ gitRepoPath: outer });
  await room.git(inner, "init", "--quiet", "--initial-branch", "inner");
  await one.checked((status) => status?.gitRepoPath === inner, "the inner repository");
  await rm(join(inner, ".git"), { recursive: true });
  await one.until((status) => status?.gitRepoPath === outer, "the outer repository");
});

test("a repository is found when git has completed its folder, although the folder was there before", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const outer = await room.repository("outer");
  const inner = join(outer, "folder");
  await mkdir(join(inner, ".git"));
  using one = await inside(place, inner);
  expect(one.status).toMatchObject({ gitRepoPath: outer });
  await room.git(inner, "init", "--quiet");
  await one.checked((status) => status?.gitRepoPath === inner, "the inner repository");
});

test("a bare repository has a branch and no changes; inside a git directory it is that repository", async () => {
  await using place = await StatusRoom.make();
  const { room } = place;
  const bare = room.at("bare.git");
  await room.git(room.path, "init", "--quiet", "--bare", bare);
  using one = await inside(place, bare);
  expect(one.status).toEqual({
    ...{ gitRepoPath: bare, gitMainRepoPath: bare, gitIsWorktree: false },
    ...{ gitBranch: "main", gitHasChanges: false },
  });
  await room.git(bare, "symbolic-ref", "HEAD", "refs/heads/other");
  await one.until(on("other"), "the other branch");
  const repository = await room.repository();
  using within = await inside(place, join(repository, ".git/objects"));
  expect(within.status).toMatchObject({ gitRepoPath: repository });
});
