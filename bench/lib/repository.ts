import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const FILES_IN_FOLDER = 50;
const IDENTITY = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];

export type RepositorySize = { readonly files: number; readonly worktrees: number };

/**
 * A repository in that directory, created once: small files, and linked worktrees that are a commit ahead; every third
 * has an edit. Returns its path.
 */
export async function makeRepository(
  directory: string,
  { files, worktrees }: RepositorySize,
): Promise<string> {
  const repository = join(directory, "repository");
  if (existsSync(repository)) return repository;
  for (let at = 0; at < files; at++) {
    const folder = join(repository, `folder-${Math.floor(at / FILES_IN_FOLDER)}`);
    if (at % FILES_IN_FOLDER === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file-${at}.ts`), `export const value = ${at};\n`.repeat(10));
  }
  await git(repository, "init", "--quiet", "--initial-branch", "main");
  await git(repository, "add", "--all");
  await git(repository, "commit", "--quiet", "-m", "first");
  for (let at = 0; at < worktrees; at++) {
    const tree = `${repository}-${at}`;
    await git(repository, "worktree", "add", "--quiet", "-b", `feature/${at}`, tree);
    writeFileSync(join(tree, "new.ts"), `${at}\n`);
    await git(tree, "add", "--all");
    await git(tree, "commit", "--quiet", "-m", "work");
    if (at % 3 === 0) writeFileSync(join(tree, "new.ts"), "edited\n");
  }
  return repository;
}

/**
 * The duration of `git status` in each worktree, as many at a time as there are cores, in milliseconds: the lower
 * bound.
 */
export async function statusOfAll(repository: string, worktrees: number): Promise<number> {
  const trees = [repository, ...Array.from({ length: worktrees }, (_, at) => `${repository}-${at}`)];
  const began = performance.now();
  const status = "git --no-optional-locks -C {} status --porcelain";
  const script = `printf '%s\\n' "$@" | xargs -P ${availableParallelism()} -I{} ${status}`;
  await run("sh", ["-c", script, "sh", ...trees]);
  return performance.now() - began;
}

async function git(cwd: string, ...args: readonly string[]): Promise<void> {
  await run("git", ["-C", cwd, ...IDENTITY, ...args]);
}
