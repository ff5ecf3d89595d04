import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno } from "../lib/fs/atomic-file.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { Git, GitRun } from "./git.ts";
import { gitError } from "./git-error.ts";

/** Where a repository is, in absolute paths without symbolic links. */
export type Repository = {
  /** The top of the working tree that was asked about; of a bare repository its folder. */
  readonly root: string;
  /** The main working tree's top, whichever was asked about; of a bare repository its folder. */
  readonly mainRoot: string;
  /** What belongs to this working tree alone, and what all of them share. */
  readonly gitDir: string;
  readonly commonDir: string;
  readonly isBare: boolean;
  /** Whether it is a linked working tree. */
  readonly isWorktree: boolean;
};

/**
 * Names the place of the repository that a folder may be in; another one gets another mark. `undefined`: it is in none,
 * which costs no process. Most sessions begin in a home directory, which is in none.
 */
export async function repositoryMark(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    for (const name of [".git", "HEAD"]) {
      const mark = await markOf(join(at, name));
      if (mark !== undefined) return mark;
    }
    if (dirname(at) === at) return undefined;
  }
}

async function markOf(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    // A file `.git` says where the repository is.
    return `${path} ${found.ino} ${found.isFile() ? found.mtimeMs : ""}`;
  } catch (error) {
    // What may not be seen is left to git.
    return isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR") ? undefined : path;
  }
}

/** The repository that a folder is in; `undefined` where it is in none, or there is no such folder. */
export async function findRepository(git: Git): Promise<Repository | undefined> {
  // Paths may hold line feeds, and rev-parse has no other separator: what it does not know it prints as it is.
  const mark = `--${randomUUID()}`;
  const questions = ["--absolute-git-dir", "--git-common-dir", "--is-bare-repository", "--show-toplevel"];
  const run = await asked(git, ["--path-format=absolute", ...questions.flatMap((one) => [one, mark])]);
  if (run === undefined) return undefined;
  const [gitDir = "", commonDir = "", bare, top] = run.stdout.split(`\n${mark}\n`);
  if (bare === undefined) {
    const error = gitError("rev-parse", run);
    if (error.code === "not_a_repository") return undefined;
    throw error;
  }
  const isBare = bare === "true";
  const isWorktree = gitDir !== commonDir;
  // There is no top inside the git directory itself, and none in a bare repository.
  const isInTree = run.code === 0 && top !== undefined && top !== "";
  const main = isBare && !isWorktree ? commonDir : await mainOf(git, commonDir);
  return {
    ...{ gitDir, commonDir, isBare: isBare && !isWorktree, isWorktree },
    root: isInTree ? top : main,
    mainRoot: isInTree && !isWorktree ? top : main,
  };
}

/** The same; throws `not_a_repository` where there is none. */
export async function requireRepository(git: Git): Promise<Repository> {
  const found = await findRepository(git);
  if (found !== undefined) return found;
  throw new ServiceError("not_a_repository", `there is no git repository at ${git.cwd}`);
}

async function asked(git: Git, args: readonly string[]): Promise<GitRun | undefined> {
  try {
    return await git.try("rev-parse", ...args);
  } catch (error) {
    if (isNoRepository(error)) return undefined;
    throw error;
  }
}

/** As git finds it: by core.worktree (a submodule has one), else beside the folder `.git`; else it is bare. */
async function mainOf(git: Git, commonDir: string): Promise<string> {
  const tree = (await git.config()).some(({ key, scope }) => key === "core.worktree" && scope === "local");
  const beside = basename(commonDir) === ".git" ? dirname(commonDir) : commonDir;
  if (!tree) return beside;
  const { code, stdout } = await git.at(commonDir).try("--git-dir=.", "rev-parse", "--show-toplevel");
  return code === 0 ? stdout.replace(/\n$/, "") : beside;
}

/** Whether git, or the system, says that there is none. */
export function isNoRepository(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "not_a_repository";
}
