import { KeyedMutex } from "../../lib/async/mutex.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Git, GitProgram, GitRun } from "../git.ts";
import { gitError } from "../git-error.ts";
import { GIT_CACHE_MS } from "../git-limits.ts";
import { readRefs, readRemoteRefs } from "../refs.ts";
import { type Repository, requireRepository } from "../repository.ts";
import { isDirty } from "../status/status.ts";
import { branchRef, shortBranchName } from "./branch-name.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";
import { examineWorktrees, type WorktreeListing } from "./listing.ts";
import { addWorktree, type WorktreeRequest } from "./new-worktree.ts";
import { removeWorktree } from "./removal.ts";
import { RepositoryCache } from "./repository-cache.ts";

/** Who has to know that a working tree is gone. */
export type WorktreeWatch = {
  /** `git` is in what the repository's working trees share; `path` as git had it. */
  removed(git: Git, path: string): Promise<void>;
};

/** What of follow mode a switch needs. */
export type FollowSwitch = {
  /** Checks the branch of a linked working tree out in the main one, which `git` is in, and follows the linked one. */
  enable(git: Git, branch: string, user: string): Promise<void>;
};

/** Who asks, and until when. */
export type Caller = { readonly user?: string; readonly signal?: AbortSignal };

export type WorktreesParts = {
  readonly program: GitProgram;
  readonly watch: WorktreeWatch;
  readonly follow: FollowSwitch;
  /** In milliseconds; any zero point, never going back. */
  readonly now: () => number;
};

/** Listings that are kept at a time. */
const MAX_LISTINGS = 256;

/** The working trees of this machine's repositories. A path may be any folder of a repository. */
export class Worktrees {
  readonly #parts: WorktreesParts;
  readonly #listings: RepositoryCache<WorktreeListing>;
  readonly #turns = new KeyedMutex();

  constructor(parts: WorktreesParts) {
    this.#parts = parts;
    const { now } = parts;
    this.#listings = new RepositoryCache({ lifetimeMs: GIT_CACHE_MS, maxEntries: MAX_LISTINGS, now });
  }

  /** Up to GIT_CACHE_MS old, but for what was changed here. Throws `not_a_repository`. */
  async list(path: string): Promise<WorktreeListing> {
    return await this.#listings.get(path, async () => {
      // Others may wait for the same answer: it does not end with whoever asked first.
      const value = await examineWorktrees(this.#parts.program.at(path));
      return { commonDir: value.repository.commonDir, value };
    });
  }

  /** Something has changed in the repository with that common directory: what was listed of it is not true any more. */
  forget(commonDir: string): void {
    this.#listings.forget(commonDir);
  }

  /** See `addWorktree`. */
  async add(
    path: string,
    request: WorktreeRequest,
    caller: Caller,
  ): Promise<{ readonly path: string; readonly branch: string }> {
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
      await this.#parts.watch.removed(git.at(repository.commonDir), removed);
      return removed;
    });
  }

  /** Forgets the working trees whose folders are gone. Returns their paths, and what git said. */
  async prune(
    path: string,
    caller: Caller,
  ): Promise<{ readonly paths: readonly string[]; readonly output: string }> {
    return await this.#change(path, caller, async (git, repository) => {
      const before = await readWorktrees(git, repository);
      const common = git.at(repository.commonDir);
      const { stdout, stderr } = await pruned(common);
      const left = new Set((await readWorktrees(git, repository)).map((entry) => entry.path));
      const paths = before.map((entry) => entry.path).filter((one) => !left.has(one));
      for (const one of paths) await this.#parts.watch.removed(common, one);
      return { paths, output: `${stdout}${stderr}`.trim() };
    });
  }

  /**
   * Brings the main working tree onto a branch, and follows the linked one that is on it, where one is. Throws
   * `uncommitted_changes`, `branch_not_found`, `invalid_branch_name`, and `invalid_request` for a bare repository.
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
      else await this.#parts.follow.enable(main, branch, caller.user ?? "");
      return { branch, isFollowing: holder !== undefined };
    });
  }

  /** Changes of one repository are made one after the other, and nothing that was listed before outlives one. */
  async #change<T>(
    path: string,
    caller: Caller,
    change: (git: Git, repository: Repository) => Promise<T>,
  ): Promise<T> {
    const { program } = this.#parts;
    const repository = await requireRepository(program.at(path, caller.signal));
    const { commonDir } = repository;
    return await this.#turns.take(commonDir, async () => {
      caller.signal?.throwIfAborted();
      // What is begun is brought to its end or taken back, whoever still waits for it.
      const git = program.at(path);
      try {
        return await change(git, repository);
      } finally {
        this.#listings.forget(commonDir);
      }
    });
  }
}

async function pruned(git: Git): Promise<GitRun> {
  const run = await git.tryWrite(["worktree", "prune", "--verbose"]);
  if (run.code !== 0) throw gitError("worktree prune", run);
  return run;
}

async function refuseUnswitchable(main: Git, entry: WorktreeEntry | undefined): Promise<void> {
  if (entry?.isBare === true) {
    throw new ServiceError("invalid_request", `${main.cwd} is bare: it has no main working tree to switch`);
  }
  if (!(await isDirty(main))) return;
  const message = `${main.cwd} has uncommitted changes: commit or stash them first`;
  throw new ServiceError("uncommitted_changes", message, { details: { worktreePath: main.cwd } });
}

/** The branch, or one that begins where the only remote has it. A name that was checked is no option. */
async function checkOut(main: Git, branch: string): Promise<void> {
  const known = await readRefs(main, [branchRef(branch)]);
  const remotes = known.size > 0 ? [] : await readRemoteRefs(main, branch);
  if (known.size === 0 && remotes.length !== 1) {
    throw new ServiceError("branch_not_found", `there is no branch ${branch}`);
  }
  await main.write("switch", known.size > 0 ? "--no-guess" : "--guess", branch);
}
