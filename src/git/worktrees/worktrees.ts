import { KeyedMutex } from "../../lib/async/mutex.ts";
import { ExpiringMap, keepAnswer } from "../../lib/data/expiring-map.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { WorktreeList } from "../../protocol/schemas/git.ts";
import type { FollowRequest } from "../follow/followed-repository.ts";
import type { Git, GitProgram } from "../git.ts";
import { gitError } from "../git-error.ts";
import { GIT_CACHE_MS } from "../git-limits.ts";
import { type Repository, requireRepository } from "../repository.ts";
import { isDirty, isDirtyIfReadable } from "../status/status.ts";
import { branchRef, readRefs, readRemoteRefs, shortBranchName } from "./branches.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";
import { listWorktrees } from "./listing.ts";
import { addWorktree, type WorktreeRequest } from "./new-worktree.ts";

/** `user`: for whom follow mode follows. `signal`: aborts a change that has not begun. */
export type Caller = { readonly user?: string; readonly signal?: AbortSignal };

type WorktreesParts = {
  readonly program: GitProgram;
  /** Follow mode must know of removed worktrees, and switches the main tree to the branch of a worktree. */
  readonly follow: {
    enable(request: FollowRequest): Promise<unknown>;
    changed(repoPath: string): Promise<unknown>;
  };
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

const MAX_LISTINGS = 256;

/** Worktrees of repositories. A path may be any folder of a repository. */
export class Worktrees {
  readonly #parts: WorktreesParts;
  readonly #listings: ExpiringMap<string, Promise<WorktreeList>>;
  readonly #mutexes = new KeyedMutex();

  constructor(parts: WorktreesParts) {
    this.#parts = parts;
    const { now } = parts;
    this.#listings = new ExpiringMap({ lifetimeMs: GIT_CACHE_MS, maxEntries: MAX_LISTINGS, now });
  }

  /** At most GIT_CACHE_MS old; changes made through this class show at once. Throws `not_a_repository`. */
  async list(path: string): Promise<WorktreeList> {
    // Without the caller's signal: others may wait for the same listing.
    const list = () => listWorktrees(this.#parts.program.at(path));
    return await (this.#listings.get(path) ?? keepAnswer(this.#listings, path, list()));
  }

  /** A repository has changed. */
  forget(): void {
    this.#listings.clear();
  }

  /** See `addWorktree`. */
  async add(path: string, request: WorktreeRequest, caller: Caller): ReturnType<typeof addWorktree> {
    return await this.#change(path, caller, (git, repository) => addWorktree(git, repository, request));
  }

  /** See `removeWorktree`. Returns the path that it had. */
  async remove(
    path: string,
    removal: { readonly branch: string; readonly isForced: boolean },
    caller: Caller,
  ): Promise<string> {
    return await this.#change(path, caller, async (git, repository) => {
      const removed = await removeWorktree(git, repository, removal);
      await this.#tellFollow(repository);
      return removed;
    });
  }

  /** Prunes worktrees whose folders are gone. Returns their paths and the output of git. */
  async prune(
    path: string,
    caller: Caller,
  ): Promise<{ readonly paths: readonly string[]; readonly output: string }> {
    return await this.#change(path, caller, async (git, repository) => {
      const before = await readWorktrees(git, repository);
      const common = git.at(repository.commonDir);
      const run = await common.tryWrite(["worktree", "prune", "--verbose"]);
      if (run.code !== 0) throw gitError("worktree prune", run);
      const left = new Set((await readWorktrees(git, repository)).map((entry) => entry.path));
      const paths = before.map((entry) => entry.path).filter((one) => !left.has(one));
      if (paths.length > 0) await this.#tellFollow(repository);
      return { paths, output: `${run.stdout}${run.stderr}`.trim() };
    });
  }

  /**
   * Switches the main tree to a branch, and follows the worktree that has it, if any. Throws `uncommitted_changes`,
   * `branch_not_found`, `invalid_branch_name`, and `invalid_request` for a bare repository.
   */
  async switchTo(
    path: string,
    name: string,
    caller: Caller,
  ): Promise<{ readonly branch: string; readonly isFollowing: boolean }> {
    const branch = shortBranchName(name);
    return await this.#change(path, caller, async (git, repository) => {
      const main = git.at(repository.mainRoot);
      const entries = await readWorktrees(git, repository);
      const holder = entries.find((entry) => !entry.isMain && entry.branch === branch);
      await refuseUnswitchable(main, entries[0]);
      if (holder === undefined) await checkOut(main, branch);
      else await this.#parts.follow.enable({ repoPath: main.cwd, branch, user: caller.user ?? "" });
      return { branch, isFollowing: holder !== undefined };
    });
  }

  /** The change is made, whether or not follow mode can check it now: it repeats a failed check. */
  async #tellFollow({ commonDir }: Repository): Promise<void> {
    await this.#parts.follow.changed(commonDir).catch(() => undefined);
  }

  /** Runs changes of a repository one after the other; each empties the cache. */
  async #change<T>(
    path: string,
    caller: Caller,
    change: (git: Git, repository: Repository) => Promise<T>,
  ): Promise<T> {
    const { program } = this.#parts;
    const repository = await requireRepository(program.at(path, caller.signal));
    const { commonDir } = repository;
    return await this.#mutexes.take(commonDir, async () => {
      caller.signal?.throwIfAborted();
      // Without the caller's signal: a change that has begun is completed or undone.
      const git = program.at(path);
      try {
        return await change(git, repository);
      } finally {
        this.forget();
      }
    });
  }
}

async function refuseUnswitchable(main: Git, entry: WorktreeEntry | undefined): Promise<void> {
  if (entry?.isBare === true) {
    throw new ServiceError("invalid_request", `${main.cwd} is bare: it has no main working tree to switch`);
  }
  if (!(await isDirty(main))) return;
  const message = `${main.cwd} has uncommitted changes: commit or stash them first`;
  throw new ServiceError("uncommitted_changes", message, { details: { worktreePath: main.cwd } });
}

/** Checks out an existing branch, or a new branch that tracks that of the only remote. */
async function checkOut(main: Git, branch: string): Promise<void> {
  const known = await readRefs(main, [branchRef(branch)]);
  const remotes = known.size > 0 ? [] : await readRemoteRefs(main, branch);
  if (known.size === 0 && remotes.length !== 1) {
    throw new ServiceError("branch_not_found", `there is no branch ${branch}`);
  }
  // git overwrites ignored files, such as `.env`, by default.
  await main.write("switch", "--no-overwrite-ignore", known.size > 0 ? "--no-guess" : "--guess", branch);
}

/**
 * Removes the linked worktree of a branch (name or full ref), but not the branch. Returns its path. Throws
 * `worktree_not_found`, `main_worktree`, `worktree_locked`, `invalid_request` where several worktrees match, and
 * `uncommitted_changes` unless it is forced.
 */
async function removeWorktree(
  git: Git,
  repository: Repository,
  { branch, isForced }: { readonly branch: string; readonly isForced: boolean },
): Promise<string> {
  const { path, locked, prunable } = linkedOn(await readWorktrees(git, repository), branch);
  const details = { worktreePath: path };
  if (locked !== undefined) {
    const message = `the worktree ${path} is locked${locked === "" ? "" : `: ${locked}`}`;
    throw new ServiceError("worktree_locked", message, { details });
  }
  // Without an answer git decides, which checks again.
  if (!isForced && prunable === undefined && (await isDirtyIfReadable(git.at(path)))) {
    const message = `the worktree ${path} has uncommitted changes: commit them, or remove it by force`;
    throw new ServiceError("uncommitted_changes", message, { details });
  }
  // Not in the folder that is removed.
  await git
    .at(repository.commonDir)
    .write("worktree", "remove", ...(isForced ? ["--force"] : []), "--", path);
  return path;
}

function linkedOn(entries: readonly WorktreeEntry[], branch: string): WorktreeEntry {
  const on = entries.filter((entry) => entry.branch === branch || branchRef(entry.branch ?? "") === branch);
  // In follow mode the main tree has the same branch.
  const [linked, ...others] = on.filter(({ isMain }) => !isMain);
  if (linked !== undefined && others.length > 0) {
    const paths = [linked, ...others].map(({ path }) => path).join(", ");
    const message = `${branch} may be any of several worktrees (${paths}): use git worktree remove`;
    throw new ServiceError("invalid_request", message);
  }
  if (linked !== undefined) return linked;
  if (on.length > 0) {
    throw new ServiceError("main_worktree", `${branch} is on the main working tree, which cannot be removed`);
  }
  throw new ServiceError("worktree_not_found", `there is no worktree on the branch ${branch}`);
}
