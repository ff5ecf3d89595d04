// Repositories of all kinds.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { exists, together } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

describe("repositories of all kinds", () => {
  test.each(["main", "tree"] as const)("a sparse checkout stays sparse: the %s", async (which) => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    const [sparse, whole] = which === "main" ? [main, tree] : [tree, main];
    await main.commit("in/a.txt", "a\n");
    await main.commit("out/b.txt", "b\n");
    await tree.git("merge", "--quiet", "main");
    await sparse.git("sparse-checkout", "set", "in");
    await repository.enable();
    await whole.commit("in/a.txt", "a2\n");
    await whole.commit("out/b.txt", "b2\n");
    await repository.settled();
    await together(repository);
    expect(await tree.status()).toBe("");
    expect([await sparse.read("in/a.txt"), await sparse.read("out/b.txt")]).toEqual(["a2\n", undefined]);
  });

  test("one whose git directory is elsewhere is followed from both trees, once the main tree is known", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree, directory, follow } = repository;
    await main.git("init", "--quiet", "--separate-git-dir", join(directory, "apart.git"));
    const fromTree = { repoPath: tree.path, user: "somebody" };
    await expect(follow.enable(fromTree)).rejects.toMatchObject({
      ...{ code: "not_a_repository", message: expect.stringContaining("main tree") },
    });
    expect(await repository.isFollowed()).toBe(false);
    await repository.enable();
    await tree.commit("new.txt", "new\n");
    const seen = { repoPath: main.path, branch: "feature", followMode: true };
    expect(await follow.changed(tree.path)).toEqual(seen);
    await together(repository);
    expect(await follow.disable(fromTree)).toMatchObject({ repoPath: main.path, enabled: false });
    expect(await repository.isFollowed()).toBe(false);
    expect(await exists(join(directory, "apart.git/hooks/post-commit"))).toBe(false);
  });

  test("a submodule's commit comes along, and its files are left alone as git pull leaves them", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    const library = join(repository.directory, "library");
    await main.git("init", "--quiet", library);
    await main.git("-C", library, "commit", "--quiet", "--allow-empty", "-m", "one");
    await main.git("submodule", "add", "--quiet", library, "lib");
    await main.git("commit", "--quiet", "-m", "with a library");
    await tree.git("merge", "--quiet", "main");
    await tree.git("submodule", "update", "--init", "--quiet");
    await repository.enable();
    const before = await main.git("-C", "lib", "rev-parse", "HEAD");
    await tree.git("-C", "lib", "commit", "--quiet", "--allow-empty", "-m", "two");
    await tree.git("commit", "--quiet", "--all", "-m", "newer library");
    await repository.settled();
    expect(await main.head()).toBe(await tree.head());
    expect(await main.git("rev-parse", "HEAD:lib", ":lib")).toBe(
      await tree.git("rev-parse", "HEAD:lib", ":lib"),
    );
    expect(await main.git("-C", "lib", "rev-parse", "HEAD")).toBe(before);
  });

  test("one with extensions.worktreeConfig is followed, also where each tree has hooks of its own", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await main.git("config", "extensions.worktreeConfig", "true");
    const own = join(repository.directory, "own hooks");
    await mkdir(own);
    await tree.git("config", "--worktree", "core.hooksPath", own);
    await repository.enable();
    expect([
      await exists(join(own, "post-commit")),
      await exists(join(main.path, ".git/hooks/post-commit")),
    ]).toEqual([true, true]);
    await tree.commit("x.txt", "x\n");
    await repository.settled();
    await together(repository);
    await repository.disable();
    expect(await exists(join(own, "post-commit"))).toBe(false);
  });

  test("one with spaces, quotes and other letters in its paths is followed", async () => {
    await using repository = await FollowRepository.following({
      main: "the 'main' \"répo\" $x",
      tree: "wörk\ttree 木",
    });
    const { main, tree } = repository;
    await tree.commit("dätei ' 木.txt", "x\n");
    await repository.settled();
    await together(repository);
    expect(await main.read("dätei ' 木.txt")).toBe("x\n");
  });

  test("hooks among the files of husky are found, and are nothing that git shows", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await main.git("config", "core.hooksPath", ".husky/_");
    for (const place of [main, tree]) {
      await place.write(".husky/_/post-commit", '#!/usr/bin/env sh\necho ran >> "$(dirname "$0")/ran"\n');
      await place.git("-c", "core.hooksPath=", "status");
      await writeFile(join(place.path, ".husky/_/.gitignore"), "*");
      await place.git("update-index", "--refresh");
    }
    await main.git("config", "core.fileMode", "true");
    const chmod = (place: typeof main): Promise<string> =>
      place.git("-c", "alias.x=!chmod +x .husky/_/post-commit", "x");
    await chmod(main);
    await chmod(tree);
    await repository.enable();
    await tree.commit("x.txt", "x\n");
    expect(await tree.read(".husky/_/ran")).toBe("ran\n");
    await repository.settled();
    await together(repository);
    await repository.disable();
    expect(await main.read(".husky/_/post-commit")).toBe(
      '#!/usr/bin/env sh\necho ran >> "$(dirname "$0")/ran"\n',
    );
    expect(await exists(join(main.path, ".husky/_/post-checkout"))).toBe(false);
  });

  test("hooks in a folder of each tree leave a worktree when another one is followed", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree, directory } = repository;
    await main.git("config", "core.hooksPath", ".own");
    await main.git("worktree", "add", "--quiet", "-b", "next", join(directory, "next"));
    await repository.enable();
    expect(await exists(join(tree.path, ".own/post-commit"))).toBe(true);
    await repository.enable("next");
    await repository.disable();
    expect(await exists(join(tree.path, ".own"))).toBe(false);
    expect(await exists(join(directory, "next/.own"))).toBe(false);
    await main.git("worktree", "remove", tree.path);
  });

  test("hooks in a folder of each tree leave a worktree that was moved", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree, directory } = repository;
    await main.git("config", "core.hooksPath", ".own");
    await repository.enable();
    const moved = join(directory, "moved");
    await main.git("worktree", "move", tree.path, moved);
    await repository.settled();
    expect(await exists(join(moved, ".own/post-commit"))).toBe(true);
    await repository.disable();
    expect(await exists(join(moved, ".own"))).toBe(false);
    await main.git("worktree", "remove", moved);
  });

  test("hooks that are files of the repository are left alone, and it is followed all the same", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await main.commit(".husky/post-commit", "#!/bin/sh\n");
    await tree.git("merge", "--quiet", "main");
    await main.git("config", "core.hooksPath", ".husky");
    const { steps } = await repository.enable();
    expect(steps.join("\n")).toContain("left alone");
    await tree.commit("x.txt", "x\n");
    await repository.settled();
    await together(repository);
    expect([await main.read(".husky/post-commit"), await tree.status()]).toEqual(["#!/bin/sh\n", ""]);
    await repository.disable();
    await main.git("worktree", "remove", tree.path);
  });

  test("a hook that is a file of one tree's commit alone is not in the way of the other", async () => {
    await using repository = await FollowRepository.make();
    const { main, tree } = repository;
    await main.git("config", "core.hooksPath", ".hooks");
    await tree.commit(".hooks/post-commit", "#!/bin/sh\n");
    await repository.enable();
    await together(repository);
    expect(await main.read(".hooks/post-commit")).toBe("#!/bin/sh\n");
    await repository.disable();
    expect([await main.status(), await tree.status()]).toEqual(["", ""]);
  });
});
