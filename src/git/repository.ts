import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { succeeded } from "../lib/async/succeeded.ts";
import { isErrno } from "../lib/fs/atomic-file.ts";
import { ServiceError, unless } from "../protocol/errors.ts";
import type { Git } from "./git.ts";
import { gitError } from "./git-error.ts";

/** Absolute paths without symbolic links. */
export type Repository = {
  /** The top of the current working tree; of a bare repository its folder. */
  readonly root: string;
  /** The top of the main working tree; of a bare repository its folder. */
  readonly mainRoot: string;
  /** The git directory of this working tree, and the directory that all trees share. */
  readonly gitDir: string;
  readonly commonDir: string;
  readonly isBare: boolean;
  readonly isWorktree: boolean;
};

/**
 * Identifies the place of a folder's repository without running git. `undefined`: outside a repository, as most home
 * directories.
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

/** Without one of these git does not take a folder for a repository. */
const GIT_DIR_ENTRIES = ["HEAD", "objects", "refs"];

function isIn(folder: string, name: string): Promise<boolean> {
  return succeeded(stat(join(folder, name)));
}

async function markOf(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    // The content of a file `.git` names the repository. `git init` fills a folder step by step, and finds no repository before.
    const content = found.isFile()
      ? found.mtimeMs
      : await Promise.all(GIT_DIR_ENTRIES.map((name) => isIn(path, name)));
    return `${path} ${found.ino} ${content}`;
  } catch (error) {
    // Access is left for git to decide.
    return isErrno(error, "ENOENT", "ENOTDIR") ? undefined : path;
  }
}

/** The repository of a folder; `undefined` outside a repository and for a missing folder. */
export async function findRepository(git: Git): Promise<Repository | undefined> {
  // Paths may contain line feeds. rev-parse prints unknown options as they are, which gives a separator.
  const mark = `--${randomUUID()}`;
  const questions = ["--absolute-git-dir", "--git-common-dir", "--is-bare-repository", "--show-toplevel"];
  const args = ["--path-format=absolute", ...questions.flatMap((one) => [one, mark])];
  const run = await git.try("rev-parse", ...args).catch(unless("not_a_repository"));
  if (run === undefined) return undefined;
  const [gitDir = "", commonDir = "", bare, top] = run.stdout.split(`\n${mark}\n`);
  if (bare === undefined) {
    const error = gitError("rev-parse", run);
    if (error.code === "not_a_repository") return undefined;
    throw error;
  }
  const isBare = bare === "true";
  const isWorktree = gitDir !== commonDir;
  // Git directories and bare repositories have no top.
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

/** As git does: core.worktree (as in submodules), else the parent of `.git`, else the bare repository. */
async function mainOf(git: Git, commonDir: string): Promise<string> {
  const tree = (await git.config()).some(({ key, scope }) => key === "core.worktree" && scope === "local");
  const beside = basename(commonDir) === ".git" ? dirname(commonDir) : commonDir;
  if (!tree) return beside;
  const { code, stdout } = await git.at(commonDir).try("--git-dir=.", "rev-parse", "--show-toplevel");
  return code === 0 ? stdout.replace(/\n$/, "") : beside;
}
