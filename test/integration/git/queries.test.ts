import { mkdir, stat, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GitRoom } from "../harness/git-repository.ts";
import { GitServer } from "./git-server.ts";

let server: GitServer;
let room: GitRoom;
let names = 0;

beforeAll(async () => {
  server = await GitServer.start();
  room = server.room;
});
afterAll(() => server?.[Symbol.asyncDispose]());

const fresh = (): Promise<string> => room.repository(`r${++names}`);
const json = async (path: string, query: Readonly<Record<string, string>>): Promise<unknown> =>
  (await server.get(path, query)).json;

describe("GET /api/git/repo-info", () => {
  test("says where the repository is that a folder is in", async () => {
    const repository = await fresh();
    const path = join(repository, "folder");
    expect(await json("git/repo-info", { path })).toEqual({ isGitRepo: true, repoPath: repository });
    expect(await json("git/repo-info", { repoPath: path })).toEqual({
      isGitRepo: true,
      repoPath: repository,
    });
  });

  test("says so where there is none, also where there is no such folder", async () => {
    expect(await json("git/repo-info", { path: room.path })).toEqual({ isGitRepo: false });
    expect(await json("git/repo-info", { path: room.at("nope") })).toEqual({ isGitRepo: false });
    expect((await server.get("git/repo-info", {})).status).toBe(400);
  });

  test("takes ~ for the home of whoever asks", async () => {
    const repository = await room.repository("home/mine");
    expect(await json("git/repo-info", { path: "~/mine" })).toEqual({
      isGitRepo: true,
      repoPath: repository,
    });
    expect(await json("git/repo-info", { path: "~" })).toEqual({ isGitRepo: false });
    expect((await server.get("git/repo-info", { path: "~root/x" })).status).toBe(400);
  });
});

describe("GET /api/git/status", () => {
  test("names what would be lost with a worktree: also what git ignores, and commits that no remote has", async () => {
    const repository = await fresh();
    await room.write(join(repository, ".gitignore"), ".env\nout/\n");
    await room.commit(repository);
    const clone = room.at(`clone${names}`);
    await room.git(room.path, "clone", "--quiet", repository, clone);
    const tree = await room.worktree(clone, "feature");
    const losses = async (path: string): Promise<unknown> =>
      Object(await json("git/status", { path, losses: "1" })).losses;
    const nothing = { changed: 0, untracked: 0, ignored: 0, files: [], unpushed: 0 };
    expect(await losses(tree)).toEqual(nothing);
    await room.commit(tree, "only here");
    for (const name of ["new file", "notes/1", ".env", "out/1"]) await room.write(join(tree, name), "x\n");
    await room.append(join(tree, "a.txt"), "more\n");
    await room.git(tree, "rm", "--quiet", "folder/b.txt");
    const files = [
      { path: "a.txt", kind: "changed" },
      { path: "folder/b.txt", kind: "changed" },
      { path: "new file", kind: "untracked" },
      { path: "notes/", kind: "untracked" },
      { path: ".env", kind: "ignored" },
      { path: "out/", kind: "ignored" },
    ];
    expect(await losses(join(tree, "notes"))).toEqual({
      ...{ changed: 2, untracked: 2, ignored: 2, unpushed: 1 },
      files: expect.arrayContaining(files),
    });
    // Without a remote nothing can be pushed, and nobody requested losses.
    expect(await losses(repository)).not.toHaveProperty("unpushed");
    expect(await json("git/status", { path: tree })).not.toHaveProperty("losses");
  });

  test("counts what was done to the files", async () => {
    const repository = await fresh();
    for (const name of ["m1", "m2", "s", "d", "ds", "old"])
      await room.write(join(repository, name), `${name}\n`.repeat(9));
    await room.commit(repository);
    for (const name of ["m1", "m2", "s"]) await room.append(join(repository, name), "more\n");
    await room.git(repository, "add", "s");
    await room.git(repository, "rm", "--quiet", "ds");
    await room.git(repository, "mv", "old", "new name");
    await room.git(repository, "rm", "--quiet", "--cached", "d");
    await room.write(join(repository, "added"), "x\n");
    await room.git(repository, "add", "added");
    await room.write(join(repository, "unknown/1"), "x\n");
    expect(await json("git/status", { path: repository })).toEqual({
      ...{
        isGitRepo: true,
        repoPath: repository,
        currentBranch: "main",
        hasChanges: true,
        hasUpstream: false,
      },
      // Untracked: the folder, and the file that was removed only from the index.
      ...{ modifiedCount: 2, untrackedCount: 2, stagedCount: 5, addedCount: 1, deletedCount: 2 },
      ...{ aheadCount: 0, behindCount: 0 },
    });
  });

  test("counts the commits that it is ahead of its upstream and behind it", async () => {
    const origin = await fresh();
    const clone = room.at(`clone${names}`);
    await room.git(room.path, "clone", "--quiet", origin, clone);
    await room.commit(origin);
    await room.git(clone, "fetch", "--quiet");
    await room.commit(clone);
    await room.commit(clone);
    expect(await json("git/status", { path: clone })).toMatchObject({
      ...{ hasUpstream: true, aheadCount: 2, behindCount: 1, hasChanges: false },
    });
  });

  test("has no branch where the head is detached, and no numbers of a bare repository", async () => {
    const repository = await fresh();
    await room.git(repository, "checkout", "--quiet", "--detach");
    expect(await json("git/status", { path: repository })).not.toHaveProperty("currentBranch");
    const bare = room.at(`bare${names}`);
    await room.git(room.path, "clone", "--quiet", "--bare", repository, bare);
    expect(await json("git/status", { path: bare })).toEqual({ isGitRepo: true, repoPath: bare });
  });

  test("counts a conflict as a change", async () => {
    const repository = await fresh();
    await room.git(repository, "checkout", "--quiet", "-b", "side");
    await room.write(join(repository, "a.txt"), "side\n");
    await room.commit(repository);
    await room.git(repository, "checkout", "--quiet", "main");
    await room.write(join(repository, "a.txt"), "main\n");
    await room.commit(repository);
    await room.git(repository, "merge", "side").catch(() => undefined);
    expect(await json("git/status", { path: repository })).toMatchObject({
      hasChanges: true,
      modifiedCount: 1,
    });
  });
});

describe("GET /api/git/remote", () => {
  test.each([
    ["git@github.com:owner/name.git", "git@github.com:owner/name.git", "https://github.com/owner/name"],
    [
      "https://one:secret@github.com/owner/name",
      "https://github.com/owner/name",
      "https://github.com/owner/name",
    ],
    ["https://example.com/x.git", "https://example.com/x.git", null],
  ])("of %s has no password", async (url, remoteUrl, githubUrl) => {
    const repository = await fresh();
    await room.git(repository, "remote", "add", "origin", url);
    expect(await json("git/remote", { path: repository })).toEqual({
      ...{ isGitRepo: true, repoPath: repository, remoteUrl, githubUrl },
    });
  });

  test("is null where there is no origin", async () => {
    const repository = await fresh();
    expect(await json("git/remote", { path: repository })).toMatchObject({
      remoteUrl: null,
      githubUrl: null,
    });
    expect(await json("git/remote", { path: room.path })).toEqual({ isGitRepo: false });
  });
});

describe("GET /api/git/repository-info", () => {
  test("is status and origin in one", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    const { isGitRepo, repoPath, ...status } = Object(await json("git/status", { path: tree }));
    expect(await json("git/repository-info", { path: tree })).toEqual({
      ...{ isGitRepo, repoPath, ...status, remoteUrl: null, isWorktree: true },
    });
    await room.git(tree, "checkout", "--quiet", "--detach");
    expect(await json("git/repository-info", { path: tree })).toMatchObject({ currentBranch: null });
    expect(await json("git/repository-info", { path: room.path })).toEqual({ isGitRepo: false });
  });
});

describe("GET /api/repositories/branches", () => {
  test("has the current one first, then those here, then those of remotes, and says where each is checked out", async () => {
    const origin = await fresh();
    await room.git(origin, "branch", "zebra");
    const clone = room.at(`clone${names}`);
    await room.git(room.path, "clone", "--quiet", origin, clone);
    for (const branch of ["beta", "alpha"]) await room.git(clone, "branch", branch);
    const tree = await room.worktree(clone, "side/ü");
    expect(await json("repositories/branches", { path: tree })).toEqual([
      { name: "side/ü", current: true, remote: false, worktree: tree },
      { name: "alpha", current: false, remote: false },
      { name: "beta", current: false, remote: false },
      { name: "main", current: false, remote: false, worktree: clone },
      { name: "origin/main", current: false, remote: true },
      { name: "origin/zebra", current: false, remote: true },
    ]);
  });

  test("answers 404 where there is no repository", async () => {
    const answer = await server.get("repositories/branches", { path: room.path });
    expect(answer).toMatchObject({ status: 404, json: { code: "not_a_repository" } });
  });
});

describe("GET /api/repositories/discover", () => {
  test("finds repositories down to a depth, none hidden and none inside another, by their folders' names", async () => {
    const place = room.at("found");
    const found: Record<string, string> = {};
    for (const name of ["zoo", "a/b", "a/deep/er/est", "a/deep/er/too/far", ".hidden/x", "zoo/inside"]) {
      found[name] = await room.repository(`found/${name}`);
    }
    const tree = await room.worktree(found.zoo ?? "", "side", join(place, "line\nfeed"));
    await symlink(room.path, join(place, "loop"));
    const discovered = async (query: Readonly<Record<string, string>>): Promise<readonly unknown[]> =>
      Object(await json("repositories/discover", { path: place, ...query })).map(
        ({ path }: { path: string }) => path,
      );
    expect(await discovered({ maxDepth: "1" })).toEqual([tree, found.zoo]);
    expect(await discovered({ maxDepth: "4" })).toEqual([
      found["a/b"],
      found["a/deep/er/est"],
      tree,
      found.zoo,
    ]);
    const zoo = Object(await json("repositories/discover", { path: place })).at(-1);
    const { ino, mtime } = await stat(found.zoo ?? "");
    expect(zoo).toEqual({
      ...{ id: `zoo-${ino}`, path: found.zoo, folderName: "zoo", relativePath: found.zoo, gitBranch: "main" },
      lastModified: mtime.toISOString(),
    });
  });

  test("looks in ~/Documents unless it is told another place, and finds nothing in one that is not there", async () => {
    expect(await json("repositories/discover", {})).toEqual([]);
    const repository = await room.repository("home/Documents/work");
    expect(await json("repositories/discover", {})).toMatchObject([
      { path: repository, relativePath: "~/Documents/work" },
    ]);
    expect(await json("repositories/discover", { path: repository })).toMatchObject([
      { path: repository, folderName: basename(repository) },
    ]);
    await mkdir(room.at("nothing"));
    expect(await json("repositories/discover", { path: room.at("nothing") })).toEqual([]);
  });
});
