import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findRepository } from "../../../src/git/repository.ts";
import { readBranches } from "../../../src/git/worktrees/branches.ts";
import { examineWorktrees, type Worktree } from "../../../src/git/worktrees/listing.ts";
import { Worktrees } from "../../../src/git/worktrees/worktrees.ts";
import { GitRoom } from "../harness/git-repository.ts";

let room: GitRoom;
let names = 0;

beforeAll(async () => {
  room = await GitRoom.make();
});
afterAll(() => room?.[Symbol.asyncDispose]());

const fresh = (): Promise<string> => room.repository(`r${++names}`);
const list = (path: string): ReturnType<typeof examineWorktrees> => examineWorktrees(room.program.at(path));
const places = (worktrees: readonly Worktree[]): readonly unknown[] =>
  worktrees.map(({ path, branch, isDirty }) => [path, branch, isDirty]);

function service(): Worktrees {
  const nothing = async (): Promise<void> => {};
  const parts = { follow: { enable: nothing, changed: nothing }, now: () => performance.now() };
  return new Worktrees({ program: room.program, ...parts });
}

describe("a bare repository", () => {
  test("lists itself without a branch, and its worktrees as any other", async () => {
    const bare = room.at(`bare${++names}.git`);
    await room.git(room.path, "clone", "--quiet", "--bare", await fresh(), bare);
    const tree = await room.worktree(bare, "side", room.at(`bare-tree${names}`));
    const { repository, worktrees } = await list(bare);
    expect(repository).toMatchObject({ root: bare, mainRoot: bare, isBare: true, isWorktree: false });
    expect(worktrees).toMatchObject([
      { path: bare, isMain: true, isBare: true, branch: undefined, isDirty: undefined },
      { path: tree, isMain: false, branch: "side", isDirty: false, stats: { commitsAhead: 0 } },
    ]);
    const fromTree = await findRepository(room.program.at(tree));
    expect(fromTree).toMatchObject({ root: tree, mainRoot: bare, isBare: false, isWorktree: true });
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
    const { repository, worktrees } = await list(place);
    expect(repository).toMatchObject({ isBare: true, mainRoot: join(place, ".bare") });
    expect(worktrees.map(({ path }) => path)).toEqual([join(place, ".bare"), join(place, "main")]);
  });
});

describe("a repository without a commit", () => {
  test("lists its one worktree without numbers, and can have no other", async () => {
    const path = room.at(`empty${++names}`);
    await mkdir(path);
    await room.git(path, "init", "--quiet");
    const { worktrees, base } = await list(path);
    expect(base).toEqual({ name: "main", commit: undefined });
    expect(worktrees).toMatchObject([
      { path, branch: "main", head: undefined, stats: undefined, isDirty: false },
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
    expect(worktrees[1]).toMatchObject({ path: tree, branch: undefined, stats: { commitsAhead: 1 } });
    const branches = await readBranches(room.program.at(tree));
    expect(branches.map(({ name, isCurrent }) => [name, isCurrent])).toEqual([
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
    const { worktrees } = await list(join(tree, "folder"));
    expect(places(worktrees)).toEqual([
      [repository, "main", false],
      [tree, "side", true],
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
    const { repository: found, worktrees } = await list(link);
    expect(found.root).toBe(repository);
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
    const found = await findRepository(room.program.at(join(repository, ".git/refs")));
    expect(found).toMatchObject({ root: repository, mainRoot: repository, isBare: false });
  });

  test("of a file, or of nothing, come to none", async () => {
    const repository = await fresh();
    expect(await findRepository(room.program.at(join(repository, "a.txt")))).toBeUndefined();
    expect(await findRepository(room.program.at(join(repository, "nope")))).toBeUndefined();
  });
});

describe("repositories in repositories", () => {
  test("a repository inside a worktree is its own", async () => {
    const outer = await fresh();
    const tree = await room.worktree(outer, "side");
    const inner = await room.repository(`${tree.slice(room.path.length)}/inner`);
    expect((await list(inner)).worktrees.map(({ path }) => path)).toEqual([inner]);
    expect(places((await list(outer)).worktrees)).toEqual([
      [outer, "main", false],
      [tree, "side", true],
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
      const { repository, worktrees } = await list(from);
      expect(repository.mainRoot).toBe(sub);
      expect(places(worktrees)).toEqual([
        [sub, "main", false],
        [tree, "side", false],
      ]);
    }
    // What is not committed in it is its own affair; another commit of it is not.
    await room.append(join(sub, "a.txt"), "x\n");
    expect((await list(outer)).worktrees[0]?.isDirty).toBe(false);
    await room.commit(sub);
    expect((await list(outer)).worktrees[0]?.isDirty).toBe(true);
  });

  test("a git directory elsewhere is found from the files", async () => {
    const path = room.at(`apart${++names}`);
    await mkdir(path);
    await room.git(path, "init", "--quiet", "--separate-git-dir", room.at(`apart${names}.git`));
    await room.commit(path);
    const { repository, worktrees } = await list(path);
    expect(repository).toMatchObject({ root: path, mainRoot: path, commonDir: room.at(`apart${names}.git`) });
    expect(worktrees[0]).toMatchObject({ path, isCurrent: true, isDirty: false });
  });
});

describe("configurations", () => {
  test("a sparse checkout is clean where nothing was changed", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(tree, "sparse-checkout", "set", "--cone", "nothing");
    expect(places((await list(repository)).worktrees)).toEqual([
      [repository, "main", false],
      [tree, "side", false],
    ]);
    expect(await service().remove(repository, { branch: "side", isForced: false }, {})).toBe(tree);
  });

  test("extensions.worktreeConfig gives each worktree its own", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(repository, "config", "extensions.worktreeConfig", "true");
    await room.git(tree, "config", "--worktree", "core.fileMode", "false");
    await room.git(repository, "config", "filter.x.clean", "cat");
    expect(places((await list(repository)).worktrees)).toEqual([
      [repository, "main", false],
      [tree, "side", false],
    ]);
  });

  test("a config that git cannot read is an error that says so, and hides no other worktree", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(repository, "config", "extensions.worktreeConfig", "true");
    const gitDir = await room.git(tree, "rev-parse", "--absolute-git-dir");
    await room.write(join(gitDir, "config.worktree"), "[broken");
    expect(places((await list(repository)).worktrees)).toEqual([
      [repository, "main", false],
      [tree, "side", undefined],
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
    expect(ahead).toEqual({ main: 0, one: 1, two: undefined, three: 1 });
  });

  test("a branch that has nothing in common with the base has no numbers", async () => {
    const repository = await fresh();
    const tree = await room.worktree(repository, "side");
    await room.git(tree, "checkout", "--quiet", "--orphan", "other");
    await room.commit(tree);
    expect((await list(repository)).worktrees[1]).toMatchObject({ branch: "other", stats: undefined });
  });
});
