import { ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { isDirty } from "../status/status.ts";
import { branchRef } from "./branch-name.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";

/**
 * Removes the linked working tree that is on a branch, given by its name or its full ref; the branch stays. Returns the
 * path that it had. Throws `worktree_not_found`, `main_worktree`, `worktree_locked`, and `uncommitted_changes` where it
 * holds what is in no commit, unless it is forced.
 */
export async function removeWorktree(
  git: Git,
  repository: Repository,
  { branch, isForced }: { readonly branch: string; readonly isForced: boolean },
): Promise<string> {
  const entry = linkedOn(await readWorktrees(git, repository), branch);
  const { path, locked } = entry;
  const details = { worktreePath: path };
  if (locked !== undefined) {
    const message = `the worktree ${path} is locked${locked === "" ? "" : `: ${locked}`}`;
    throw new ServiceError("worktree_locked", message, { details });
  }
  if (!isForced && entry.prunable === undefined && (await holdsWork(git.at(path)))) {
    const message = `the worktree ${path} has uncommitted changes: commit them, or remove it by force`;
    throw new ServiceError("uncommitted_changes", message, { details });
  }
  // Not in the folder that goes.
  await git
    .at(repository.commonDir)
    .write("worktree", "remove", ...(isForced ? ["--force"] : []), "--", path);
  return path;
}

function linkedOn(entries: readonly WorktreeEntry[], branch: string): WorktreeEntry {
  const on = entries.filter((entry) => entry.branch === branch || branchRef(entry.branch ?? "") === branch);
  // In follow mode the main working tree is on the same branch.
  const linked = on.find(({ isMain }) => !isMain);
  if (linked !== undefined) return linked;
  if (on.length > 0) {
    throw new ServiceError("main_worktree", `${branch} is on the main working tree, which cannot be removed`);
  }
  throw new ServiceError("worktree_not_found", `there is no worktree on the branch ${branch}`);
}

/** Where that cannot be told, git decides, which looks once more. */
async function holdsWork(git: Git): Promise<boolean> {
  try {
    return await isDirty(git);
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
