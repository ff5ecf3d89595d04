// Follow mode leaves nothing behind in a repository.
import { chmod, lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { FollowRepository } from "./follow-repository.ts";

/** git's own log of HEAD, and its index, which contains the times of files. */
const GITS_OWN = /(?:^|\/)(?:logs\/HEAD|index|ORIG_HEAD)$/;

/** Each file and folder in a folder, with its permissions and bytes. */
async function everything(folder: string): Promise<Readonly<Record<string, string>>> {
  const below = await readdir(folder, { withFileTypes: true, recursive: true });
  const processes = await Promise.all(
    below.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      const mode = (await lstat(path)).mode.toString(8);
      return [
        relative(folder, path),
        `${mode} ${entry.isFile() ? await readFile(path, "base64") : ""}`,
      ] as const;
    }),
  );
  const named = processes
    .filter(([path]) => !GITS_OWN.test(path))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(named);
}

test("nothing of it is left in .git, byte for byte, when it is off and the main tree is back on its branch", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  const git = join(main.path, ".git");
  await writeFile(join(git, "hooks/post-commit"), "#!/bin/sh\n# mine\n");
  await chmod(join(git, "hooks/post-commit"), 0o750);
  await writeFile(join(git, "info/exclude"), "*.own\n# no line feed at the end, caf\u00e9");
  await tree.commit("before.txt", "before\n");
  const before = await everything(git);
  await repository.enable();
  expect(await everything(git)).not.toEqual(before);
  await repository.disable();
  await main.git("switch", "--quiet", "main");
  expect(await everything(git)).toEqual(before);
  expect([await main.status(), await tree.status()]).toEqual(["", ""]);
});

test("nor where it ended by itself, with hooks among the files, and edits in the way of a commit", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  const git = join(main.path, ".git");
  await main.git("config", "core.hooksPath", "own hooks");
  const before = await everything(git);
  await repository.enable();
  await main.write("shared.txt", "in the way\n");
  await tree.commit("shared.txt", "two\n");
  await repository.settled();
  await main.git("checkout", "--quiet", "--", "shared.txt");
  await main.git("switch", "--quiet", "main");
  await repository.settled();
  expect(await repository.isFollowed()).toBe(false);
  const after = await everything(git);
  const isCommit = (path: string): boolean => /^(?:objects|logs|refs\/heads)\/|COMMIT_EDITMSG$/.test(path);
  const rest = (all: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(all).filter(([path]) => !isCommit(path)));
  expect(rest(after)).toEqual(rest(before));
  for (const one of [main, tree]) expect(await readdir(one.path)).toEqual([".git", "shared.txt"]);
});

test("nor in a folder of hooks elsewhere, where the repository is deleted", async () => {
  await using repository = await FollowRepository.make();
  const { main, directory } = repository;
  const hooks = join(directory, "hooks elsewhere");
  await mkdir(hooks);
  await writeFile(join(hooks, "post-commit"), "#!/bin/sh\n# mine\n", { mode: 0o755 });
  await main.git("config", "core.hooksPath", hooks);
  await repository.enable();
  expect(await readdir(hooks)).toContain("post-merge");
  // The check of the repository may still run, and git makes files for a moment.
  await rm(main.path, { recursive: true, maxRetries: 20, retryDelay: 100 });
  await expect.poll(() => readdir(hooks)).toEqual(["post-commit"]);
  expect(await readFile(join(hooks, "post-commit"), "utf8")).toBe("#!/bin/sh\n# mine\n");
});
