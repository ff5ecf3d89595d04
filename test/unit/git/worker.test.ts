import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { WORKER } from "../../../src/git/worker/methods.ts";
import { WorkerProcess } from "../../../src/lib/os/worker-process.ts";
import { until } from "../until.ts";

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL("../../../src/git/worker/main.ts", import.meta.url));

/** A repository whose checkout creates the file `begun` beside it, and then waits for the file `go`. */
async function slowRepository(directory: string): Promise<string> {
  const path = join(directory, "repo");
  const filter = join(directory, "filter");
  const wait = `while [ ! -e "${directory}/go" ]; do sleep 0.01; done`;
  await writeFile(filter, `#!/bin/sh\n: >"${directory}/begun"\n${wait}\ncat\n`);
  await chmod(filter, 0o755);
  const git = (...args: readonly string[]) => run("git", ["-C", path, ...args]);
  await run("git", ["init", "--quiet", path]);
  await writeFile(join(path, ".gitattributes"), "a.txt filter=slow\n");
  await writeFile(join(path, "a.txt"), "a\n");
  await git("add", "--all");
  await git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "first");
  await git("config", "filter.slow.smudge", filter);
  return path;
}

test("a worktree that is being created is completed before its worker ends", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-worker-"));
  try {
    const repoPath = await slowRepository(directory);
    const env = { PATH: process.env.PATH ?? "", HOME: directory };
    const command = { file: process.execPath, args: [MAIN], env };
    const worker = new WorkerProcess(command, { name: "git worker", code: "git_failed" });
    worker.peer.emit(WORKER.begin, { entries: [] });
    const input = { body: { repoPath, branch: "next" } };
    const call = { name: "createWorktree", user: "ada", input };
    const answer = worker.peer.call(WORKER.call, call).catch((error: unknown) => error);
    await until(() => existsSync(join(directory, "begun")));
    // Until END_WAIT_MS: the worker waits for git, which waits for this test.
    await worker.end();
    await writeFile(join(directory, "go"), "");
    await worker.ended;
    expect(existsSync(`${repoPath}-next/a.txt`)).toBe(true);
    const { stdout } = await run("git", ["-C", repoPath, "worktree", "list", "--porcelain"]);
    expect(stdout).toContain("branch refs/heads/next");
    expect(stdout).not.toContain("locked");
    await answer;
  } finally {
    await rm(directory, { recursive: true });
  }
});
