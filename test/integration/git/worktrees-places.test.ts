import { mkdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findRepository } from "../../../src/git/repository.ts";
import { readBranches } from "../../../src/git/worktrees/branches.ts";
import { listWorktrees } from "../../../src/git/worktrees/listing.ts";
import { Worktrees } from "../../../src/git/worktrees/worktrees.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import type { WorktreeList } from "../../../src/protocol/schemas/git.ts";
import { GitRoom } from "../harness/git-repository.ts";

let room: GitRoom;
let names = 0;

beforeAll(async () => {
  room = await GitRoom.make();
});
afterAll(() => room?.[Symbol.asyncDispose]());

const fresh = (): Promise<string> => room.repository(`r${++names}`);
const list = (path: string): Promise<WorktreeList> => listWorktrees(room.program.at(path));
const repositoryAt = (path: string): Promise<unknown> => findRepository(room.program.at(path));
const places = ({ worktrees }: WorktreeList): readonly unknown[] =>
  worktrees.map(({ path, branch, hasUncommittedChanges }) => [path, branch, hasUncommittedChanges]);

const nothing = async (): Promise<void> => {};

function service(changed = nothing): Worktrees {
  const parts = { follow: { enable: nothing, changed }, now: () => performance.now() };
  return new Worktrees({ program: room.program, ...parts });
}

describe("a bare repository", () => {
  test("lists itself without a branch, and its worktrees as any other", async () => {
    const bare = room.at(`bare${++names}.git`);
    await room.git(room.path, "clone", "--quiet", "--bare", await fresh(), bare);
    const tree = await room.worktree(bare, "side", room.at(`bare-tree${names}`));
    const { worktrees } = await list(bare);
    expect(await repositoryAt(bare)).toMatchObject({
      root: bare,
      mainRoot: bare,
      isBare: true,
      isWorktree: false,
    });
    expect(worktrees).toMatchObject([
      { path: bare, isMain: true, bare: true, branch: "HEAD", hasUncommittedChanges: undefined },
      {
        ...{ path: tree, isMain: false, branch: "refs/heads/side", hasUncommittedChanges: false },
        stats: { commitsAhead: 0 },
      },
    ]);
    expect(await repositoryAt(tree)).toMatchObject({
      root: tree,
      mainRoot: bare,
      isBare: false,
      isWorktree: true,
    });
    const added = await service().add(bare, { branch: "next" }, {});
    expect(added.path).toBe(`${bare}-next`);
    await service().remove(tree, { branch: "side", isForced: false }, {});
    expect((await list(bare)).worktrees.map(({ path }) => path)).toEqual([bare, added.path]);
    await expect(service().switchTo(bare, "main", {})).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("beside its worktrees, with a file .git that points to it, is found from there", async () => {
    const place = room.at(`beside${++names}`);
    await mkdir(place);
    await room.git(room.path, "clone", "--quiet", "--bare", await fresh(), join(place, ".bare"));
    await room.write(join(place, ".git"), "gitdir: ./.bare\n");
    await room.git(place, "worktree", "add", "--quiet", "main");
    const { worktrees } = await list(place);
    expect(await repositoryAt(place)).toMatchObject({ isBare: true, mainRoot: join(place, ".bare") });
    expect(worktrees.map(({ path }) => path)).toEqual([join(place, ".bare"), join(place, "main")]);
  });
});

describe("a repository without a commit", () => {
  test("lists its one worktree without numbers, and can have no other", async () => {
    const path = room.at(`empty${++names}`);
    await mkdir(path);
    await room.git(path, "init", "--quiet");
    const { worktrees, baseBranch } = await list(path);
    expect(baseBranch).toBe("main");
    expect(worktrees).toMatchObject([
      { path, branch: "refs/heads/main", HEAD: "", stats: undefined, hasUncommittedChanges: false },
    ]);
    expect(await readBranches(room.program.at(path))).toEqual([]);
    const added = service().add(path, { branch: "side" }, {});
    await expect(added).rejects.toMatchObject({ code: "branch_not_found" });
  });
});

describe("a detached head", () => {
  test("has no branch, and numbers all the same", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.commit(tree);
    await room.git(tree, "checkout", "--quiet", "--detach");
    const { worktrees } = await list(repository);
    expect(worktrees[1]).toMatchObject({
      path: tree,
      branch: "HEAD",
      detached: true,
      stats: { commitsAhead: 1 },
    });
    const branches = await readBranches(room.program.at(tree));
    expect(branches.map(({ name, current }) => [name, current])).toEqual([
      ["main", false],
      ["side", false],
    ]);
  });
});

describe("paths", () => {
  test.each([
    ["a space"],
    ["ünï cödé 日本"],
    ["a line\nfeed"],
    ["-x"],
    ["$(id) `id` 'q' \"q\" \\"],
    ["*?[x]"],
  ])("of a repository and a worktree may have %j in them", async (name) => {
    const repository = await room.repository(`${++names} ${name}`);
    const tree = await room.worktree(repository, "side");
    await room.write(join(tree, "new.txt"), "x\n");
    expect(places(await list(join(tree, "folder")))).toEqual([
      [repository, "refs/heads/main", false],
      [tree, "refs/heads/side", true],
    ]);
    const added = await service().add(repository, { branch: "next" }, {});
    expect(added.path).toBe(`${repository}-next`);
    expect(await service().remove(added.path, { branch: "next", isForced: false }, {})).toBe(added.path);
    const branches = await readBranches(room.program.at(repository));
    expect(branches.find((branch) => branch.name === "side")).toMatchObject({ worktree: tree });
  });

  test("through symbolic links come to the same repository", async () => {
    const repository = await fresh();
    const link = room.at(`link${names}`);
    await symlink(repository, link);
    const { repoPath, worktrees } = await list(link);
    expect(repoPath).toBe(repository);
    expect(worktrees[0]).toMatchObject({ path: repository, isCurrent: true });
    const folder = room.at(`real${names}`);
    await mkdir(folder);
    await symlink(folder, room.at(`linked${names}`));
    const path = room.at(`linked${names}/tree`);
    const added = await service().add(link, { branch: "side", path }, {});
    expect(added.path).toBe(join(folder, "tree"));
  });

  test("in the git directory itself come to its repository", async () => {
    const repository = await fresh();
    expect(await repositoryAt(join(repository, ".git/refs"))).toMatchObject({
      root: repository,
      mainRoot: repository,
      isBare: false,
    });
  });

  test("of a file, or of nothing, come to none", async () => {
    const repository = await fresh();
    expect(await repositoryAt(join(repository, "a.txt"))).toBeUndefined();
    expect(await repositoryAt(join(repository, "nope"))).toBeUndefined();
  });
});

describe("repositories in repositories", () => {
  test("a repository inside a worktree is its own", async () => {
    const outer = await fresh();
    const tree = await room.worktree(outer, "side");
    const inner = await room.repository(`${tree.slice(room.path.length)}/inner`);
    expect((await list(inner)).worktrees.map(({ path }) => path)).toEqual([inner]);
    expect(places(await list(outer))).toEqual([
      [outer, "refs/heads/main", false],
      [tree, "refs/heads/side", true],
    ]);
  });

  test("a submodule is its own, with a main worktree where its files are", async () => {
    const inner = await fresh();
    const outer = await fresh();
    await room.git(outer, "submodule", "--quiet", "add", inner, "sub");
    await room.commit(outer);
    const sub = join(outer, "sub");
    const tree = await room.worktree(sub, "side", room.at(`sub-tree${names}`));
    for (const from of [sub, tree]) {
      expect(await repositoryAt(from)).toMatchObject({ mainRoot: sub });
      expect(places(await list(from))).toEqual([
        [sub, "refs/heads/main", false],
        [tree, "refs/heads/side", false],
      ]);
    }
    // Its uncommitted changes are its own; another commit of it is not.
    await room.append(join(sub, "a.txt"), "x\n");
    expect((await list(outer)).worktrees[0]?.hasUncommittedChanges).toBe(false);
    await room.commit(sub);
    expect((await list(outer)).worktrees[0]?.hasUncommittedChanges).toBe(true);
  });

  test("a git directory elsewhere is found from the files", async () => {
    const path = room.at(`apart${++names}`);
    await mkdir(path);
    await room.git(path, "init", "--quiet", "--separate-git-dir", room.at(`apart${names}.git`));
    await room.commit(path);
    const commonDir = room.at(`apart${names}.git`);
    expect(await repositoryAt(path)).toMatchObject({ root: path, mainRoot: path, commonDir });
    const { worktrees } = await list(path);
    expect(worktrees[0]).toMatchObject({ path, isCurrent: true, hasUncommittedChanges: false });
  });
});

describe("configurations", () => {
  test("a sparse checkout is clean where nothing was changed", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(tree, "sparse-checkout", "set", "--cone", "nothing");
    expect(places(await list(repository))).toEqual([
      [repository, "refs/heads/main", false],
      [tree, "refs/heads/side", false],
    ]);
    expect(await service().remove(repository, { branch: "side", isForced: false }, {})).toBe(tree);
  });

  test("extensions.worktreeConfig gives each worktree its own", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(repository, "config", "extensions.worktreeConfig", "true");
    await room.git(tree, "config", "--worktree", "core.fileMode", "false");
    await room.git(repository, "config", "filter.x.clean", "cat");
    expect(places(await list(repository))).toEqual([
      [repository, "refs/heads/main", false],
      [tree, "refs/heads/side", false],
    ]);
  });

  test("a config that git cannot read is an error that says so, and hides no other worktree", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(repository, "config", "extensions.worktreeConfig", "true");
    const gitDir = await room.git(tree, "rev-parse", "--absolute-git-dir");
    await room.write(join(gitDir, "config.worktree"), "[broken");
    expect(places(await list(repository))).toEqual([
      [repository, "refs/heads/main", false],
      [tree, "refs/heads/side", undefined],
    ]);
    const asked = list(tree);
    await expect(asked).rejects.toMatchObject({
      code: "git_failed",
      message: expect.stringContaining("bad config"),
    });
  });
});

describe("what is broken", () => {
  test("a worktree whose commit is lost has no numbers; the others have", async () => {
    const repository = await fresh();
    for (const branch of ["one", "two", "three"]) {
      await room.commit(await room.worktree(repository, branch), branch);
    }
    const lost = await room.git(repository, "rev-parse", "two");
    await rm(join(repository, ".git/objects", lost.slice(0, 2), lost.slice(2)));
    const { worktrees } = await list(repository);
    const ahead = Object.fromEntries(worktrees.map(({ branch, stats }) => [branch, stats?.commitsAhead]));
    expect(ahead).toEqual({
      "refs/heads/main": 0,
      "refs/heads/one": 1,
      "refs/heads/two": undefined,
      "refs/heads/three": 1,
    });
  });

  test("a branch that has nothing in common with the base has no numbers", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(tree, "checkout", "--quiet", "--orphan", "other");
    await room.commit(tree);
    expect((await list(repository)).worktrees[1]).toMatchObject({
      branch: "refs/heads/other",
      stats: undefined,
    });
  });
});

describe("changes", () => {
  test("are answered as made, even if follow mode cannot check the repository", async () => {
    const repository = await fresh();
    const [removed, pruned] = [
      await room.worktree(repository, "removed", room.at(`removed${names}`)),
      await room.worktree(repository, "pruned", room.at(`pruned${names}`)),
    ];
    const worktrees = service(() => Promise.reject(new ServiceError("git_busy", "git is busy")));
    const removal = { branch: "removed", isForced: false };
    expect(await worktrees.remove(repository, removal, {})).toBe(removed);
    await rm(pruned, { recursive: true });
    expect(await worktrees.prune(repository, {})).toMatchObject({ paths: [pruned] });
  });

  test("of the branch leave a file that git ignores, and that the branch has", async () => {
    const repository = await fresh();
    const file = join(repository, ".env");
    await room.git(repository, "switch", "--quiet", "--create", "next");
    await room.write(file, "theirs\n");
    await room.commit(repository);
    await room.git(repository, "switch", "--quiet", "main");
    await room.append(join(repository, ".git/info/exclude"), ".env\n");
    await room.write(file, "mine\n");
    await expect(service().switchTo(repository, "next", {})).rejects.toMatchObject({
      code: "uncommitted_changes",
    });
    expect(await readFile(file, "utf8")).toBe("mine\n");
  });
});
