// What happens in one tree while the other is on its way.
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { JOINED } from "../../../src/git/follow-facts.ts";
import { together } from "./follow-looks.ts";
import { FollowRepository, type WorkTree } from "./follow-repository.ts";

/** A commit that is on no branch yet, with one more file. */
async function nextCommit({ tree }: FollowRepository, name: string): Promise<string> {
  const commit = await tree.commit(name, `${name}\n`);
  await tree.git("reset", "--quiet", "--hard", "HEAD~1");
  return commit;
}

/** When git writes the file `moving.txt` in that tree, the branch moves on to the commit, once. */
async function moveMeanwhile({ directory }: FollowRepository, main: WorkTree, commit: string): Promise<void> {
  const program = join(directory, "moving");
  const once = join(directory, "moved");
  const move = `git --git-dir='${main.path}/.git' update-ref refs/heads/feature ${commit}`;
  await writeFile(program, `#!/bin/sh\n[ -e '${once}' ] || { : > '${once}'; ${move}; }\nexec cat\n`);
  await chmod(program, 0o755);
  await main.git("config", "filter.moving.smudge", program);
  await main.git("config", "filter.moving.clean", "cat");
  await main.write(".git/info/attributes", "moving.txt filter=moving\n");
}

test("a commit that is made while the main tree joins the branch comes along", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  await tree.commit("moving.txt", "moving\n");
  await moveMeanwhile(repository, main, await nextCommit(repository, "next.txt"));
  await repository.enable();
  await repository.settled();
  await together(repository);
  for (const one of [main, tree]) {
    expect([await one.read("next.txt"), await one.status(), await one.branch()]).toEqual([
      ...["next.txt\n", "", "feature"],
    ]);
  }
});

test("a commit that is made while the main tree comes along comes along, too", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  const last = await (async () => {
    await tree.commit("moving.txt", "moving\n");
    return await nextCommit(repository, "next.txt");
  })();
  await repository.settled();
  await together(repository);
  await moveMeanwhile(repository, main, last);
  await tree.commit("moving.txt", "moved\n");
  await repository.settled();
  await repository.settled();
  for (const one of [main, tree]) {
    expect([await one.read("next.txt"), await one.head(), await one.status()]).toEqual([
      "next.txt\n",
      last,
      "",
    ]);
  }
});

test("nor is a commit missed that was made while a server that joined was killed", async () => {
  await using repository = await FollowRepository.make();
  const { main, tree } = repository;
  await main.git("checkout", "--quiet", "--detach", "feature");
  await tree.commit("next.txt", "next\n");
  await main.git("symbolic-ref", "-m", JOINED, "HEAD", "refs/heads/feature");
  expect(await main.status()).toBe("D  next.txt");
  await repository.enable();
  await together(repository);
  expect(await main.read("next.txt")).toBe("next\n");
});
