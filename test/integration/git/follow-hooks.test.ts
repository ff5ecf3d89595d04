// One folder of hooks that several repositories share.
import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { FollowHooks } from "../../../src/git/hooks/follow-hooks.ts";
import { requireRepository } from "../../../src/git/repository.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { followList } from "./follow-repository.ts";

const MINE = "#!/bin/sh\n# mine\n";

test("existing hooks are kept when several repositories use one folder at the same moment", async () => {
  await using room = await GitRoom.make();
  await room.append(room.at("home/.gitconfig"), `[core]\nhooksPath = ${room.at("hooks")}\n`);
  const list = await followList(room.at("follow.json"));
  const target = { node: "/nowhere/node", main: "/nowhere/main.js", controlDir: room.at("control") };
  const hooks = new FollowHooks({ list, target });
  const repositories = await Promise.all(
    ["one", "two", "three", "four"].map(async (name) => {
      const git = room.program.at(await room.repository(name));
      const repository = await requireRepository(git);
      const put = async (): Promise<void> => {
        const { mainRoot } = repository;
        const plan = await hooks.plan(git, repository, mainRoot);
        const hookFolders = plan.folders.map(({ path }) => path);
        await list.set({ repoPath: mainRoot, user: "somebody", hookFolders });
        await hooks.install(plan, repository.commonDir);
      };
      const take = (): Promise<void> => hooks.remove(repository.mainRoot, repository.commonDir);
      return { put, take };
    }),
  );
  for (const name of ["post-checkout", "post-commit", "post-merge"])
    await room.script(room.at("hooks", name), "# mine");
  for (let round = 0; round < 5; round++) {
    await Promise.all(repositories.map(({ put }) => put()));
    expect(await readFile(room.at("hooks/ttyhq-kept/post-commit"), "utf8")).toBe(MINE);
    await Promise.all(repositories.map(({ take }) => take()));
  }
  expect(await readdir(room.at("hooks"))).toEqual(["post-checkout", "post-commit", "post-merge"]);
  expect(await readFile(room.at("hooks/post-commit"), "utf8")).toBe(MINE);
});
