// Real hooks, a real server, and git as a user types it.
import { execFile } from "node:child_process";
import { chmod, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ask } from "../harness/http.ts";
import { MAIN, TestServer } from "../harness/test-server.ts";
import { together } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

const run = promisify(execFile);

/** The command line in a folder, for a user who has it on the PATH. */
async function ttyhq(server: TestServer, cwd: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [MAIN, ...args, "--control-dir", server.controlDir], {
    cwd,
  });
  return stdout;
}

/** A file that records the end of the program that a commit's hook starts. */
async function watchHook({ main, directory }: FollowRepository): Promise<string> {
  const hook = join(main.path, ".git/hooks/post-commit");
  const seen = join(directory, "seen");
  const text = await readFile(hook, "utf8");
  await writeFile(hook, text.replace(/^( {2}\( trap.*) & \)/m, `$1; echo $? > '${seen}' & )`));
  return seen;
}

/** The expected state. */
const hooksOf = (repository: FollowRepository): Promise<string[]> =>
  readdir(join(repository.main.path, ".git/hooks")).then((names) =>
    names.filter((name) => !name.endsWith(".sample")),
  );

test("a commit reaches the other tree, by hooks and by git's own files, and after a restart of the server", async () => {
  await using repository = await FollowRepository.make({ main: "it's a répo" });
  await using server = await TestServer.start({ asProcess: true });
  const { main, tree } = repository;
  expect(await ttyhq(server, tree.path, "follow")).toContain("Follow mode enabled");
  await tree.commit("one.txt", "one\n");
  await expect.poll(() => main.read("one.txt")).toBe("one\n");
  await tree.git("reset", "--quiet", "--hard", "HEAD~1");
  await expect.poll(() => main.read("one.txt")).toBeUndefined();
  await server.kill();
  await tree.commit("two.txt", "two\n");
  await server.restart();
  await expect.poll(() => main.read("two.txt")).toBe("two\n");
  expect(await ttyhq(server, main.path, "unfollow")).toContain("Follow mode disabled");
  expect(await hooksOf(repository)).toEqual([]);
});

test("without a server `ttyhq unfollow` ends follow mode all the same, and the worktree gets its branch back", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree, directory } = repository;
  await repository.restart(async () => {
    // As if our hook had been overwritten.
    await tree.git("-c", "core.hooksPath=/dev/null", "switch", "--quiet", "-c", "attempt-2");
    expect(await tree.refused("switch", "feature")).toMatch(/already (?:checked out|used by worktree) at/);
    const unfollow = async (...args: readonly string[]): Promise<string> => {
      const words = [MAIN, "unfollow", ...args, "--control-dir", directory];
      const { stdout } = await run(process.execPath, words, { cwd: tree.path, env: repository.env });
      return stdout;
    };
    expect(await unfollow("--dry-run")).toContain("nothing was changed");
    expect(await repository.isFollowed()).toBe(true);
    expect(await unfollow()).toContain("Follow mode disabled");
    await tree.git("switch", "--quiet", "feature");
    expect(await main.branch()).toBe("");
    await main.git("switch", "--quiet", "main");
    expect(await unfollow()).toContain("nothing was followed there");
  });
  expect(await repository.isFollowed()).toBe(false);
  expect(await hooksOf(repository)).toEqual([]);
  expect(await readFile(join(directory, "follow.json"), "utf8")).toMatch(/^\[\s*\]\s*$/);
});

test("the worktree gets a branch back that it has left a moment ago, also while no server runs", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await tree.git("switch", "--quiet", "-c", "attempt-2");
  await tree.git("switch", "--quiet", "feature");
  await repository.settled();
  await together(repository);
  await repository.restart(async () => {
    const before = await main.head();
    // The files of the main tree stay unchanged, regardless of the branch.
    await tree.commit("x.txt", "x\n");
    await tree.git("switch", "--quiet", "attempt-2");
    expect([await main.head(), await main.branch(), await main.status()]).toEqual([before, "", ""]);
    await tree.git("switch", "--quiet", "feature");
  });
  await repository.settled();
  await together(repository);
  expect([await main.branch(), await main.read("x.txt")]).toEqual(["feature", "x\n"]);
});

test("an unfinished merge in the main tree keeps its branch when the worktree leaves it", async () => {
  await using repository = await FollowRepository.following();
  const { main, tree } = repository;
  await repository.restart(async () => {
    await writeFile(join(main.path, ".git/MERGE_HEAD"), `${await main.git("rev-parse", "main")}\n`);
    await tree.git("switch", "--quiet", "-c", "attempt-2");
    expect(await main.branch()).toBe("feature");
    await rm(join(main.path, ".git/MERGE_HEAD"));
  });
});

test("the hook alone is enough, as where no file can be watched", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  await ttyhq(server, repository.main.path, "follow", "feature");
  const seen = await watchHook(repository);
  await repository.tree.commit("x.txt", "x\n");
  await expect.poll(() => readFile(seen, "utf8").catch(() => "")).toBe("0\n");
  await expect.poll(() => repository.main.read("x.txt")).toBe("x\n");
});

test("a commit that is made inside a session reaches the server by its hook as well", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  const { main, tree, env } = repository;
  await ttyhq(server, main.path, "follow", "feature");
  const seen = await watchHook(repository);
  await tree.write("x.txt", "x\n");
  await tree.git("add", "x.txt");
  const config = `GIT_CONFIG_GLOBAL=${env.GIT_CONFIG_GLOBAL}`;
  await server.client().create({
    ...{ command: ["env", config, "git", "commit", "--quiet", "-m", "x"], cwd: tree.path },
  });
  await expect.poll(() => readFile(seen, "utf8").catch(() => "")).toBe("0\n");
  await expect.poll(() => main.read("x.txt")).toBe("x\n");
});

test("with no server, no program and no PATH, git says and fails nothing", async () => {
  await using repository = await FollowRepository.make();
  {
    await using server = await TestServer.start();
    await ttyhq(server, repository.main.path, "follow", "feature");
  }
  const env = { ...repository.env, PATH: "/usr/bin:/bin" };
  const { stdout, stderr } = await run("git", ["commit", "--allow-empty", "--quiet", "-m", "x"], {
    cwd: repository.tree.path,
    env,
  });
  expect([stdout, stderr]).toEqual(["", ""]);
});

test("the user's own hook runs first in every case, and its exit code is git's", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  const { main } = repository;
  const hook = join(main.path, ".git/hooks/post-checkout");
  const log = join(repository.directory, "log");
  const mine = `#!/bin/bash\nset -u\necho "$(basename "$0") $3" >> '${log}'\n[ "$3" = 1 ] && exit 3\nexit 0\n`;
  await writeFile(hook, mine);
  await chmod(hook, 0o751);
  const before = await stat(hook);
  await ttyhq(server, main.path, "follow", "feature");
  await rm(log, { force: true });
  expect(await main.refused("switch", "--quiet", "--create", "new")).not.toBe("");
  await main.git("checkout", "--quiet", "--", "shared.txt");
  expect(await readFile(log, "utf8")).toBe("post-checkout 1\npost-checkout 0\n");
  // The switch has ended it, so the hook is restored.
  await expect.poll(() => readFile(hook, "utf8")).toBe(mine);
  const after = await stat(hook);
  expect([after.ino, after.mode]).toEqual([before.ino, before.mode]);
  await expect.poll(() => hooksOf(repository)).toEqual(["post-checkout"]);
});

test("a worktree that is removed through the service is not followed any more", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  await ttyhq(server, repository.main.path, "follow", "feature");
  const path = encodeURIComponent(repository.main.path);
  const worktree = `/api/worktrees/feature?repoPath=${path}`;
  expect((await ask(server.url, worktree, { method: "DELETE" })).status).toBe(200);
  const { json } = await ask(server.url, `/api/git/follow?path=${path}`);
  expect(json).toMatchObject({ enabled: false, followMode: false });
  expect(await hooksOf(repository)).toEqual([]);
});

test("old spellings of the endpoint are understood, and what is missing is named", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  const post = (body: object) => ask(server.url, "/api/worktrees/follow", { body: JSON.stringify(body) });
  const reply = await post({
    gitRepoPath: repository.main.path,
    targetBranch: "refs/heads/feature",
    enabled: true,
  });
  expect(reply.json).toMatchObject({
    success: true,
    enabled: true,
    branch: "feature",
    hooksInstalled: true,
  });
  const incomplete = await post({ branch: "feature" });
  expect(incomplete.status).toBe(400);
  expect(incomplete.text).toMatch(/repoPath.*enable/);
  const unknown = await post({ repoPath: repository.main.path, branch: "nowhere", enable: true });
  expect([unknown.status, unknown.json]).toMatchObject([404, { code: "worktree_not_found" }]);
  const nowhere = await post({ repoPath: repository.directory, branch: "feature", enable: true });
  expect([nowhere.status, nowhere.json]).toMatchObject([404, { code: "not_a_repository" }]);
});

test("a switch through the service to a worktree's branch follows it", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  const { main, tree } = repository;
  const body = { repoPath: main.path, branch: "feature" };
  const { json } = await ask(server.url, "/api/worktrees/switch", { body });
  expect(json).toMatchObject({ success: true, following: true, currentBranch: "feature" });
  await tree.commit("x.txt", "x\n");
  await expect.poll(() => main.read("x.txt")).toBe("x\n");
});
