import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
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

describe("GET /api/worktrees", () => {
  test("tells how each worktree stands to the base branch", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.write(join(tree, "a.txt"), "one\nTWO\nthree\nfour\n");
    await room.commit(tree);
    await room.write(join(tree, "new.txt"), "new\n");
    await room.commit(tree);
    await room.write(join(repository, "main.txt"), "x\n");
    const main = await room.commit(repository);
    await room.append(join(tree, "new.txt"), "not committed\n");
    const list = await server.list(repository);
    expect(list).toMatchObject({ baseBranch: "main", repoPath: repository });
    expect(list).not.toHaveProperty("followBranch");
    const numbers = { commitsAhead: 2, commitsBehind: 1, filesChanged: 2, insertions: 3, deletions: 1 };
    expect(list.worktrees).toMatchObject([
      {
        ...{ path: repository, branch: "refs/heads/main", HEAD: main, detached: false, locked: false },
        ...{ isMain: true, isMainWorktree: true, isCurrent: true, isCurrentWorktree: true },
        ...{ prunable: false, isFollowed: false, hasUncommittedChanges: false },
        ...{ commitsAhead: 0, commitsBehind: 0, filesChanged: 0, insertions: 0, deletions: 0 },
      },
      {
        ...{ path: tree, branch: "refs/heads/side", isMain: false, isCurrent: false },
        ...{ ...numbers, stats: numbers, hasUncommittedChanges: true },
      },
    ]);
  });

  test("takes any folder of any worktree, and says which one it is in", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    const list = await server.list(join(tree, "folder"));
    expect(list.repoPath).toBe(tree);
    expect(list.worktrees.map(({ isCurrent }) => isCurrent)).toEqual([false, true]);
  });

  test("compares with what origin/HEAD points to, else with main, else with master, else with the main worktree's", async () => {
    const repository = await fresh();
    const base = async (): Promise<string> => {
      // Every path is a separate request, so that the previous listing answers none.
      const folder = join(repository, `f${++names}`);
      await mkdir(folder);
      return (await server.list(folder)).baseBranch;
    };
    await room.git(repository, "branch", "-m", "main", "trunk");
    expect(await base()).toBe("trunk");
    await room.git(repository, "branch", "master");
    expect(await base()).toBe("master");
    await room.git(repository, "branch", "main");
    expect(await base()).toBe("main");
    await room.git(repository, "update-ref", "refs/remotes/origin/develop", "HEAD");
    await room.git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop");
    expect(await base()).toBe("develop");
  });

  test("is up to 5 s old, but never older than a change that the service made", async () => {
    const count = async (path: string): Promise<number> => (await server.list(path)).worktrees.length;
    // Repeated with another one if a busy machine needs more than 5 s from list to list.
    const first = new Set<number>();
    const repository = await eventually(async () => {
      const path = await fresh();
      first.add(await count(path));
      await room.worktree(path, "aside");
      return (await count(path)) === 1 ? path : undefined;
    }, "a list that is kept");
    expect([...first]).toEqual([1]);
    await server.add({ repoPath: repository, branch: "side" });
    expect(await count(repository)).toBe(3);
    await server.remove("side", { repoPath: `${repository}/folder` });
    expect(await count(repository)).toBe(2);
  });

  test("answers 404 where there is no repository, and 400 without a path", async () => {
    const outside = await server.get("worktrees", { repoPath: room.path });
    expect(outside).toMatchObject({ status: 404, json: { code: "not_a_repository" } });
    const nowhere = await server.get("worktrees", { repoPath: room.at("nowhere") });
    expect(nowhere).toMatchObject({ status: 404, json: { code: "not_a_repository" } });
    expect(await server.get("worktrees", {})).toMatchObject({
      status: 400,
      json: { code: "invalid_request" },
    });
    const relative = await server.get("worktrees", { repoPath: "repo" });
    expect(relative).toMatchObject({ status: 400, json: { code: "invalid_request" } });
  });

  test("answers old clients, who call the path gitRepoPath", async () => {
    const repository = await fresh();
    expect(await server.get("worktrees", { gitRepoPath: repository })).toMatchObject({ status: 200 });
  });
});

describe("DELETE /api/worktrees/:branch", () => {
  test("removes the folder and keeps the branch", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "feature/x", `${repository}-x`);
    const answer = await server.remove("feature/x", { repoPath: repository });
    expect(answer).toMatchObject({ status: 200, json: { success: true, removedPath: tree } });
    expect(existsSync(tree)).toBe(false);
    expect(await room.git(repository, "branch", "--list", "feature/x")).toContain("feature/x");
  });

  test("takes a full ref, and may be asked for in the worktree itself", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    const answer = await server.remove("refs/heads/side", { repoPath: join(tree, "folder") });
    expect(answer).toMatchObject({ status: 200 });
    expect(existsSync(tree)).toBe(false);
  });

  test.each([
    ["an edit", (tree: string) => room.append(join(tree, "a.txt"), "x\n")],
    [
      "a staged edit",
      async (tree: string) => {
        await room.append(join(tree, "a.txt"), "x\n");
        await room.git(tree, "add", "a.txt");
      },
    ],
    ["a deleted file", (tree: string) => rm(join(tree, "a.txt"))],
    ["a new file", (tree: string) => room.write(join(tree, "new.txt"), "x\n")],
    [
      "a new file that status is told not to show",
      async (tree: string) => {
        await room.git(tree, "config", "status.showUntrackedFiles", "no");
        await room.write(join(tree, "new.txt"), "x\n");
      },
    ],
    ["a repository inside", (tree: string) => room.repository(`${tree.slice(room.path.length)}/inner`)],
  ])("refuses a worktree with %s, unless it is forced", async (_, change) => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await change(tree);
    const refused = await server.remove("side", { repoPath: repository });
    expect(refused).toMatchObject({
      status: 409,
      json: { code: "uncommitted_changes", details: { worktreePath: tree } },
    });
    expect(existsSync(join(tree, ".git"))).toBe(true);
    expect(await server.remove("side", { repoPath: repository, force: "true" })).toMatchObject({
      status: 200,
    });
    expect(existsSync(tree)).toBe(false);
  });

  test("refuses a worktree with submodules, unless it is forced", async () => {
    const inner = await room.repository("inner");
    const repository = await fresh();
    await room.git(repository, "submodule", "--quiet", "add", inner, "sub");
    await room.commit(repository);
    const tree = await room.worktree(repository, "side");
    await room.git(tree, "submodule", "--quiet", "update", "--init");
    expect(await server.remove("side", { repoPath: repository })).toMatchObject({
      status: 409,
      json: { code: "uncommitted_changes" },
    });
    expect(await server.remove("side", { repoPath: repository, force: "1" })).toMatchObject({ status: 200 });
  });

  test("refuses the main worktree and a locked one, forced or not, and does not know any other", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(repository, "worktree", "lock", "--reason", "on a stick", tree);
    const refused = async (branch: string): Promise<unknown> => {
      const { status, json } = await server.remove(branch, { repoPath: repository, force: "true" });
      return [status, json.code];
    };
    expect(await refused("main")).toEqual([409, "main_worktree"]);
    expect(await refused("side")).toEqual([409, "worktree_locked"]);
    expect(await refused("nope")).toEqual([404, "worktree_not_found"]);
    expect(await refused("--force")).toEqual([404, "worktree_not_found"]);
    expect(await server.tree(repository, tree)).toMatchObject({ locked: true, lockedReason: "on a stick" });
  });

  test("removes one whose folder is gone already", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await rm(tree, { recursive: true });
    expect(await server.tree(repository, tree)).toMatchObject({ prunable: true });
    expect(await server.remove("side", { repoPath: repository })).toMatchObject({ status: 200 });
    expect((await server.list(repository)).worktrees).toHaveLength(1);
  });

  test("of the followed worktree ends the following", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await server.follow(repository, "side");
    expect(await server.list(repository)).toMatchObject({ followBranch: "side" });
    expect(await server.tree(repository, tree)).toMatchObject({ isFollowed: true });
    await server.remove("side", { repoPath: repository });
    expect(await readFile(join(repository, ".git/config"), "utf8")).not.toContain("followWorktree");
  });
});

describe("POST /api/worktrees/prune", () => {
  test("forgets worktrees whose folders are gone, but no locked ones, and ends the following of one", async () => {
    const repository = await fresh();
    const gone = await room.worktree(repository, "gone");
    const moved = await room.worktree(repository, "away");
    await room.git(repository, "worktree", "lock", moved);
    await server.follow(repository, "gone");
    await rm(gone, { recursive: true });
    await rm(moved, { recursive: true });
    const answer = await server.post("worktrees/prune", { repoPath: repository });
    expect(answer).toMatchObject({ status: 200, json: { success: true, pruned: true, worktrees: [gone] } });
    expect(answer.json.output).toContain("gitdir file points to non-existent location");
    expect((await server.list(repository)).worktrees.map(({ path }) => path)).toEqual([repository, moved]);
    expect(await readFile(join(repository, ".git/config"), "utf8")).not.toContain("followWorktree");
    const again = await server.post("worktrees/prune", { repoPath: repository });
    expect(again.json).toMatchObject({ pruned: false, worktrees: [], output: "" });
  });
});

describe("POST /api/worktrees/switch", () => {
  const switchTo = async (repoPath: string, branch: string): Promise<unknown> => {
    const { status, json } = await server.post("worktrees/switch", { repoPath, branch });
    return [status, json.code ?? json.currentBranch];
  };

  test("brings the main worktree onto a branch that no other is on", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(repository, "branch", "next");
    expect(await switchTo(tree, "next")).toEqual([200, "next"]);
    expect(await room.git(repository, "branch", "--show-current")).toBe("next");
  });

  test("follows the worktree that is on the branch", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    const answer = await server.post("worktrees/switch", { repoPath: repository, branch: "side" });
    expect(answer).toMatchObject({ status: 200, json: { currentBranch: "side", following: true } });
    expect(await room.git(repository, "branch", "--show-current")).toBe("side");
    expect(await server.list(repository)).toMatchObject({ followBranch: "side" });
    expect(await server.tree(repository, tree)).toMatchObject({ isFollowed: true });
  });

  test("refuses to with uncommitted changes, and onto no branch", async () => {
    const repository = await fresh();
    await room.git(repository, "branch", "next");
    expect(await switchTo(repository, "nope")).toEqual([404, "branch_not_found"]);
    expect(await switchTo(repository, "--detach")).toEqual([400, "invalid_branch_name"]);
    await room.append(join(repository, "a.txt"), "mine\n");
    expect(await switchTo(repository, "next")).toEqual([409, "uncommitted_changes"]);
    expect(await room.git(repository, "branch", "--show-current")).toBe("main");
    expect(await readFile(join(repository, "a.txt"), "utf8")).toContain("mine");
  });
});
