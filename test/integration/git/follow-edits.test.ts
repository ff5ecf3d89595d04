// Uncommitted work stays, regardless of changes in the other tree.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { atRest, holdBack, together } from "./follow-checks.ts";
import { FollowRepository, WorkTree } from "./follow-repository.ts";

describe("what is not committed", () => {
  test.each([
    ["changed", async ({ main }: FollowRepository) => await main.write("shared.txt", "mine\n")],
    [
      "staged",
      async ({ main }: FollowRepository) => {
        await main.write("shared.txt", "mine\n");
        await main.git("add", "shared.txt");
      },
    ],
  ])("and %s in the main tree stays, off the branch, and is told once", async (_, change) => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await change(repository);
    const status = await main.status();
    const before = await main.head();
    await tree.commit("shared.txt", "theirs\n");
    await repository.settled();
    expect([await main.read("shared.txt"), await main.status(), await main.head()]).toEqual([
      "mine\n",
      status,
      before,
    ]);
    expect(repository.told()).toMatchObject([{ level: "error", title: "Sync Failed", branch: "feature" }]);
    await tree.commit("more.txt", "more\n");
    await repository.settled();
    expect(repository.told()).toEqual([]);
    await main.git("stash");
    await repository.settled();
    await together(repository);
    expect(await main.read("shared.txt")).toBe("theirs\n");
  });

  test("a commit that was made while held back is kept, told of, and comes together by a merge", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await holdBack(repository);
    await main.git("commit", "--quiet", "--all", "-m", "mine");
    const own = await main.head();
    await repository.settled();
    expect([await main.head(), await tree.read("shared.txt")]).toEqual([own, "theirs\n"]);
    expect(repository.told().at(-1)?.message).toContain("on no branch");
    await tree.git("merge", "--quiet", "-s", "ours", "--no-edit", own);
    await repository.settled();
    await together(repository);
  });

  test("new and ignored files that are in the way stay", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await writeFile(join(main.path, ".git/info/exclude"), "*.env\nbuild\n");
    await main.write("a.env", "secret\n");
    await main.write("build/out", "built\n");
    await main.write("untracked.txt", "mine\n");
    for (const [name, text] of [
      ["a.env", "public\n"],
      ["build", "a file now\n"],
      ["untracked.txt", "theirs\n"],
    ] as const) {
      await tree.commit(name, text);
      await repository.settled();
    }
    expect(await main.read("a.env")).toBe("secret\n");
    expect(await main.read("build/out")).toBe("built\n");
    expect(await main.read("untracked.txt")).toBe("mine\n");
    await rm(join(main.path, "a.env"));
    await rm(join(main.path, "build"), { recursive: true });
    await rm(join(main.path, "untracked.txt"));
    await repository.settled();
    await together(repository);
  });

  test.each([
    ["a file in a folder that is a file there", "place/own.txt", "place"],
    ["a file that is a folder there", "place", "place/theirs.txt"],
  ])("and staged as %s stays", async (_, own, theirs) => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await main.write(own, "mine\n");
    await main.git("add", own);
    await tree.commit(theirs, "theirs\n");
    await repository.settled();
    expect([await main.read(own), await main.status()]).toEqual(["mine\n", `A  ${own}`]);
    expect(repository.told().at(-1)?.message).toContain(`(${own})`);
    await main.git("stash");
    await repository.settled();
    await together(repository);
  });

  test.each([
    ["by a file", "lib"],
    ["with its folder by a file", "deps/lib"],
    ["by files of its own", "lib"],
  ])("and is in a submodule that the worktree replaced %s stays", async (how, path) => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    const [top = ""] = path.split("/");
    const library = new WorkTree(join(repository.directory, "library"), repository.env);
    await main.git("init", "--quiet", library.path);
    await library.commit("a.env", "old\n");
    await main.git("submodule", "--quiet", "add", library.path, path);
    await main.git("commit", "--quiet", "-m", "with a library");
    await tree.git("merge", "--quiet", "main");
    await repository.enable();
    await writeFile(join(main.path, ".git/info/exclude"), "*.env\n");
    await main.write(`${path}/a.env`, "mine\n");
    await tree.git("rm", "--quiet", path);
    await rm(join(tree.path, top), { recursive: true, force: true });
    await tree.commit(how === "by files of its own" ? `${path}/a.env` : top, "theirs\n");
    await repository.settled();
    expect(await main.read(`${path}/a.env`)).toBe("mine\n");
    expect(repository.told().at(-1)?.message).toContain(`(${path})`);
    await main.git("submodule", "--quiet", "deinit", "--force", path);
    await repository.settled();
    await together(repository);
  });

  test("and ignored in a repository inside the main tree stays", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await main.git("init", "--quiet", join(main.path, "inside"));
    await writeFile(join(main.path, ".git/info/exclude"), "*.env\n");
    await main.write("inside/a.env", "mine\n");
    await tree.commit("inside/a.env", "theirs\n");
    await repository.settled();
    expect(await main.read("inside/a.env")).toBe("mine\n");
    expect(repository.told().at(-1)?.message).toContain("(inside/a.env)");
    await rm(join(main.path, "inside"), { recursive: true });
    await repository.settled();
    await together(repository);
  });

  test("and changed in the worktree stays as well, and the worktree comes back to its branch", async () => {
    await using repository = await FollowRepository.following();
    const { main, tree } = repository;
    await tree.write("shared.txt", "mine\n");
    await main.commit("shared.txt", "theirs\n");
    await repository.settled();
    expect(await tree.read("shared.txt")).toBe("mine\n");
    expect([await main.branch(), await tree.branch()]).toEqual(["feature", ""]);
    await tree.git("stash");
    await repository.settled();
    await together(repository);
  });

  test("a file that is only touched is no edit", async () => {
    await using repository = await FollowRepository.following();
    await repository.main.write("shared.txt", "one\n");
    await repository.tree.commit("shared.txt", "two\n");
    await repository.settled();
    await together(repository);
  });
});

test("a commit on outdated files is reported, with the way to undo it", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await main.write("own.txt", "mine\n");
  await main.git("add", "own.txt");
  await tree.commit("shared.txt", "theirs\n");
  // At once: sooner than any check.
  await main.git("commit", "--quiet", "-m", "blind");
  await repository.settled();
  await together(repository);
  if ((await main.read("shared.txt")) === "theirs\n") return;
  const words = repository.told().find(({ title }) => title === "Commit On Old Files")?.message ?? "";
  const [, range = ""] = /git cherry-pick (\S+)`/.exec(words) ?? [];
  await main.git("cherry-pick", range);
  await repository.settled();
  expect([await tree.read("shared.txt"), await tree.read("own.txt")]).toEqual(["theirs\n", "mine\n"]);
});

test("comes to rest: follow mode does not answer itself", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await tree.commit("x.txt", "x\n");
  await repository.settled();
  await main.write("x.txt", "mine\n");
  await tree.commit("x.txt", "theirs\n");
  await repository.settled();
  await atRest(repository);
});
