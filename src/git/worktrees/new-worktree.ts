import { existsSync } from "node:fs";
import { basename, dirname, normalize } from "node:path";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import { removeEmptyFolder } from "../hooks/files.ts";
import { type Repository, requireRepository } from "../repository.ts";
import { type BranchStart, branchRef, commitOf, shortBranchName, startOf } from "./branches.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";

export type WorktreeRequest = {
  readonly branch: string;
  /** The start of a new branch. Without it an existing branch is checked out. */
  readonly baseBranch?: string | undefined;
  /** Absolute. */
  readonly path?: string | undefined;
};

/** Of the branch in a folder's name, which may have 255 bytes. */
const MAX_SLUG_LENGTH = 100;
/** Errors after which the branch is not ours to delete. */
const OTHERS: ReadonlySet<string> = new Set(["branch_exists", "branch_checked_out"]);
/** git's lock reason for a working tree that it is creating. */
const BEING_MADE = "initializing";

/** Repository path, hyphen, slug (contract 7.2). */
export function defaultWorktreePath(mainRoot: string, branch: string): string {
  return `${mainRoot}-${branch.replaceAll(/[^A-Za-z0-9_-]/gu, "-").slice(0, MAX_SLUG_LENGTH)}`;
}

/**
 * Adds a working tree on an existing or a new branch; see `startOf` for its start. A failure leaves nothing behind.
 * Throws `invalid_branch_name`, `branch_not_found`, `branch_exists`, `branch_checked_out`, `worktree_path_exists`,
 * `invalid_request` (the path), `git_failed`.
 */
export async function addWorktree(
  git: Git,
  repository: Repository,
  request: WorktreeRequest,
): Promise<{ readonly path: string; readonly branch: string }> {
  const branch = shortBranchName(request.branch);
  const path = pathOf(request, branch, repository);
  const before = await readWorktrees(git, repository);
  refuseTaken(before, branch, path);
  const plan = { repository, before, branch, path, start: await startOf(git, branch, request.baseBranch) };
  const missing = missingFolders(path);
  try {
    await make(git, plan);
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : "git_failed";
    if (!OTHERS.has(code)) await undo(git, plan, code);
    for (const folder of missing) await removeEmptyFolder(folder);
    throw error;
  }
  // Without symbolic links.
  return { path: (await requireRepository(git.at(path))).root, branch };
}

type Plan = {
  readonly repository: Repository;
  /** The working trees that there were. */
  readonly before: readonly WorktreeEntry[];
  readonly branch: string;
  readonly path: string;
  readonly start: BranchStart | undefined;
};

async function make(git: Git, plan: Plan): Promise<void> {
  const { repository, branch, path, start } = plan;
  const what = start === undefined ? ["--", path, branch] : ["-b", branch, "--", path, start.ref];
  try {
    // Where a relative core.hooksPath is looked for.
    await git.at(repository.root).write("worktree", "add", ...what);
  } catch (error) {
    // The post-checkout hook comes last: if it fails or takes too long, the tree is complete.
    const made = (await newEntries(git, plan)).filter(({ locked }) => locked !== BEING_MADE);
    // One on another branch is another process's.
    if (!made.some((entry) => entry.branch === branch)) throw error;
  }
}

function pathOf({ path }: WorktreeRequest, branch: string, { mainRoot, commonDir }: Repository): string {
  if (path === undefined) return defaultWorktreePath(mainRoot, branch);
  const wanted = normalize(path).replace(/(.)\/+$/, "$1");
  if (wanted !== mainRoot && `${wanted}/`.startsWith(`${commonDir}/`)) {
    throw new ServiceError("invalid_request", `${wanted} is inside the repository's own data`);
  }
  // git names a working tree after its folder, and cannot find this name again.
  if (basename(wanted) === "@") {
    throw new ServiceError("invalid_request", `git takes no worktree in a folder called @: ${wanted}`);
  }
  return wanted;
}

function refuseTaken(entries: readonly WorktreeEntry[], branch: string, path: string): void {
  const holder = entries.find((entry) => entry.branch === branch && !entry.isBare);
  if (holder !== undefined) {
    const message = `branch ${branch} is already checked out at ${holder.path}`;
    throw new ServiceError("branch_checked_out", message, { details: { worktreePath: holder.path } });
  }
  if (entries.some((entry) => entry.path === path)) {
    const details = { worktreePath: path };
    throw new ServiceError("worktree_path_exists", `${path} is a worktree already`, { details });
  }
}

/** Missing parents of the path, which git will create; the deepest first. */
function missingFolders(path: string): readonly string[] {
  const folders: string[] = [];
  for (let at = dirname(path); at !== "/" && !existsSync(at); at = dirname(at)) folders.push(at);
  return folders;
}

async function undo(git: Git, plan: Plan, code: ErrorCode): Promise<void> {
  const { repository, branch, start } = plan;
  const common = git.at(repository.commonDir);
  // At a taken path git has made the branch at most: another process may be making the worktree there.
  const begun = code === "worktree_path_exists" ? [] : await newEntries(git, plan);
  for (const { path, locked } of begun) {
    if (locked !== BEING_MADE) continue;
    await common.tryWrite(["worktree", "remove", "--force", "--force", "--", path]);
  }
  // A branch that has moved since is in use.
  if (start !== undefined && (await commitOf(git, branchRef(branch))) === start.commit) {
    await common.tryWrite(["branch", "-D", "--", branch]);
  }
}

/** New working trees with that path or branch; other processes may add trees at the same time. */
async function newEntries(git: Git, plan: Plan): Promise<readonly WorktreeEntry[]> {
  const known = new Set(plan.before.map(({ path }) => path));
  return (await readWorktrees(git, plan.repository)).filter(
    ({ path, branch }) => !known.has(path) && (path === plan.path || branch === plan.branch),
  );
}
