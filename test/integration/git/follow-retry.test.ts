import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readFollowSettings } from "../../../src/git/follow-settings.ts";
import { GitProgram } from "../../../src/git/git.ts";
import { FollowRepository } from "./follow-repository.ts";

test("a look that fails is taken again by itself", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await tree.write("new.txt", "new\n");
  await tree.git("add", "new.txt");
  const files = await tree.git("write-tree");
  const commit = await tree.git("commit-tree", "-p", "HEAD", "-m", "new", files);
  const config = join(main.path, ".git/config");
  const text = await readFile(config, "utf8");
  // git does nothing with such a config.
  await writeFile(config, `${text}[`);
  await writeFile(join(main.path, ".git/refs/heads/feature"), `${commit}\n`);
  await expect.poll(() => repository.log, { timeout: 30_000 }).toContain("it is tried again");
  // Nothing tells of this.
  await writeFile(config, text);
  await expect.poll(() => main.read("new.txt"), { timeout: 30_000 }).toBe("new\n");
});

test("a git that was killed has not said that nothing is followed", async () => {
  await using repository = await FollowRepository.following();
  const { main, directory, env } = repository;
  await writeFile(
    join(directory, "git"),
    `#!/bin/sh\ncase "$*" in *--get-regexp*) kill -9 $$ ;; esac\nPATH='${env.PATH}' exec git "$@"\n`,
    { mode: 0o755 },
  );
  const program = new GitProgram({ env: { ...env, PATH: `${directory}:${env.PATH}` } });
  await expect(readFollowSettings(program.at(main.path))).rejects.toMatchObject({ code: "git_failed" });
});

test("of what many say at once a few looks are taken", async () => {
  await using repository = await FollowRepository.following();
  await repository.settled();
  const before = repository.looks;
  await Promise.all(Array.from({ length: 50 }, () => repository.settled()));
  expect(repository.looks - before).toBeLessThan(25);
});
