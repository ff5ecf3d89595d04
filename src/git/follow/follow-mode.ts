// Follow mode: it is turned on and off, and asked about, here. One repository at a time in order, different ones side by side.
import { KeyedMutex } from "../../lib/async/mutex.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { FollowReply, FollowStatus } from "../../protocol/schemas/follow.ts";
import type { Git, GitProgram } from "../git.ts";
import { MAX_FOLLOWED_OF_USER, MAX_FOLLOWED_REPOSITORIES } from "../git-limits.ts";
import { requireOwn } from "../hooks/files.ts";
import type { FollowHooks, HooksPlan } from "../hooks/follow-hooks.ts";
import { findRepository, type Repository, requireRepository } from "../repository.ts";
import { shortBranchName } from "../worktrees/branches.ts";
import { readWorktrees, type WorktreeEntry } from "../worktrees/list.ts";
import { type Check, carryOut, checkOnce, foresee } from "./check.ts";
import { announce, FollowedRepository, type FollowedRepositoryParts } from "./followed-repository.ts";
import type { FollowEntry, FollowList } from "./list.ts";
import { enabledMessage, sentence } from "./messages.ts";
import { clearFollowSettings, readFollowSettings, writeFollowSettings } from "./settings.ts";

export type FollowRequest = {
  readonly repoPath: string;
  readonly branch?: string | undefined;
  readonly user: string;
};

export type FollowModeParts = Pick<FollowedRepositoryParts, "notices" | "log" | "onChange" | "now"> & {
  readonly program: GitProgram;
  readonly list: FollowList;
  readonly hooks: FollowHooks;
};

export class FollowMode implements AsyncDisposable {
  readonly #parts: FollowModeParts;
  readonly #program: GitProgram;
  readonly #list: FollowList;
  readonly #hooks: FollowHooks;
  /** By the path of the main tree. */
  readonly #repositories = new Map<string, FollowedRepository>();
  readonly #mutexes = new KeyedMutex();
  readonly #atWork = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(parts: FollowModeParts) {
    this.#parts = parts;
    this.#program = parts.program;
    this.#list = parts.list;
    this.#hooks = parts.hooks;
  }

  /** Checks the repositories of the list, which an earlier process followed. */
  resume(): void {
    for (const { repoPath } of this.#list.entries) this.hint(repoPath);
  }

  /** The repository may have changed. */
  hint(repoPath: string): void {
    this.#repository(repoPath)?.hint();
  }

  /** One of the repository's trees has changed. Resolves when both are in sync. */
  async changed(repoPath: string): Promise<{
    readonly repoPath: string;
    readonly branch: string | undefined;
    readonly isFollowed: boolean;
  }> {
    const git = this.#program.at(repoPath);
    const { mainRoot } = await requireRepository(git);
    await this.#repository(mainRoot)?.check();
    const isFollowed = this.#list.get(mainRoot) !== undefined;
    return { repoPath: mainRoot, branch: await branchOf(git), isFollowed };
  }

  /**
   * The main tree follows the worktree of the branch; without one, the worktree of `repoPath`. Conflicting edits delay
   * the switch (`synced` is false). Throws `not_a_repository`, `worktree_not_found`, `branch_not_found`, and
   * `uncommitted_changes` during a rebase.
   */
  async enable(request: FollowRequest): Promise<FollowReply> {
    const { git, repository } = await this.#find(request);
    return await this.#inTurn(repository.mainRoot, async () => {
      const { worktree, check } = await this.#checkAhead(git, repository, request.branch);
      this.#requireRoom(repository.mainRoot, request.user);
      const entry = { repoPath: repository.mainRoot, user: request.user };
      const hooks = await this.#prepare(git, repository, entry, { worktree, check });
      // Checks once this turn is over, however it ends.
      const followed = this.#repository(entry.repoPath);
      followed?.hint();
      const outcome = await carryOut(git, check);
      const messages = [enabledMessage(worktree.path, entry.repoPath), ...outcome.messages];
      followed?.report(entry.user, { ...outcome, messages }, worktree.branch);
      await followed?.watch();
      const steps = [...hooks.steps, ...outcome.messages.map(({ message }) => message)];
      const hooksInstalled = hooks.folders.length > 0;
      const done = { message: "Follow mode enabled", hooksInstalled, synced: outcome.end === "done" };
      return { ...enabledReply(repository, worktree), ...done, steps };
    });
  }

  /** Idempotent. The main tree stays at its commit; HEAD is detached where both trees shared the branch. */
  async disable(request: FollowRequest): Promise<FollowReply> {
    const { git, repository } = await this.#find(request);
    const { mainRoot } = repository;
    return await this.#inTurn(mainRoot, async () => {
      const settings = await readFollowSettings(git);
      const check = settings && (await checkOnce(git, repository, settings, { kind: "disable" }));
      if (check !== undefined) {
        const { messages } = await carryOut(git, check);
        const where = { repoPath: mainRoot, branch: settings?.branch, user: request.user };
        announce(this.#parts, messages, where);
      }
      await this.#forget(mainRoot, repository);
      const steps = check?.actions.map(sentence) ?? ["nothing was followed there"];
      return { ...disabledReply(repository), message: "Follow mode disabled", steps };
    });
  }

  /** A dry run of `enable` or `disable`; throws as `enable` does. */
  async preview(request: FollowRequest & { readonly enable: boolean }): Promise<FollowReply> {
    const { git, repository } = await this.#find(request);
    const message = "nothing was changed";
    if (!request.enable) {
      const settings = await readFollowSettings(git);
      const check = settings && (await checkOnce(git, repository, settings, { kind: "disable" }));
      const steps = check?.actions.map(sentence) ?? ["nothing is followed there: nothing happens"];
      return { ...disabledReply(repository), message, steps };
    }
    const { worktree, check } = await this.#checkAhead(git, repository, request.branch);
    const obstacle = await foresee(git, check);
    const steps = [
      ...(await this.#hooks.plan(git, repository, worktree.path)).steps,
      ...check.actions.filter(({ kind }) => kind !== "stuck").map(sentence),
      ...(obstacle === undefined ? [] : [obstacle.message]),
    ];
    const done = { message, hooksInstalled: false, synced: obstacle === undefined };
    return { ...enabledReply(repository, worktree), ...done, steps };
  }

  async status(repoPath: string): Promise<FollowStatus> {
    const git = this.#program.at(repoPath);
    const repository = await findRepository(git);
    if (repository === undefined) return { ...NO_FOLLOW, isGitRepo: false };
    const [settings, current] = await Promise.all([readFollowSettings(git), branchOf(git)]);
    const here = { isGitRepo: true, repoPath: repository.mainRoot, currentBranch: current ?? null };
    if (settings === undefined) return { ...NO_FOLLOW, ...here };
    const { worktreePath } = settings;
    const branch = (await readWorktrees(git, repository)).find(({ path }) => path === worktreePath)?.branch;
    const named = branch === undefined ? {} : { branch };
    return { ...here, ...named, worktreePath, enabled: true, followMode: true, followBranch: branch ?? null };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const repository of this.#repositories.values()) repository[Symbol.dispose]();
    await Promise.allSettled(this.#atWork);
  }

  /** Stores entry and settings and installs the hooks. A failure reverts all of it. */
  async #prepare(
    git: Git,
    repository: Repository,
    entry: Pick<FollowEntry, "repoPath" | "user">,
    { worktree, check }: { readonly worktree: WorktreeEntry; readonly check: Check },
  ): Promise<HooksPlan> {
    const { repoPath } = entry;
    const before = this.#list.get(repoPath);
    const mainGit = git.at(repoPath);
    const settings = await readFollowSettings(mainGit);
    const plan = await this.#hooks.plan(git, repository, worktree.path);
    await this.#list.set({ ...entry, ...plan.entry });
    try {
      const { branch } = check.state.main;
      await writeFollowSettings(mainGit, { worktreePath: worktree.path, branch });
      await this.#hooks.install(plan, repository.commonDir);
      return plan;
    } catch (error) {
      const putBack =
        settings === undefined ? clearFollowSettings(mainGit) : writeFollowSettings(mainGit, settings);
      await putBack.catch(() => undefined);
      // The entry of another user stays.
      const left = before === undefined ? this.#forget(repoPath, repository) : this.#list.set(before);
      await left.catch(() => undefined);
      throw error;
    }
  }

  async #inTurn<T>(repoPath: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#mutexes.take(repoPath, work);
    this.#atWork.add(turn);
    return await turn.finally(() => this.#atWork.delete(turn));
  }

  #repository(repoPath: string): FollowedRepository | undefined {
    if (this.#isClosed || this.#list.get(repoPath) === undefined) return undefined;
    const known = this.#repositories.get(repoPath);
    if (known !== undefined) return known;
    const repository = new FollowedRepository({
      ...this.#parts,
      git: this.#program.at(repoPath),
      user: () => this.#list.get(repoPath)?.user,
      inTurn: (work) => this.#inTurn(repoPath, work),
      forget: (found) => this.#forget(repoPath, found),
    });
    this.#repositories.set(repoPath, repository);
    return repository;
  }

  /** Ends follow mode for a repository, in its turn. */
  async #forget(repoPath: string, repository: Pick<Repository, "commonDir"> | undefined): Promise<void> {
    this.#repositories.get(repoPath)?.[Symbol.dispose]();
    this.#repositories.delete(repoPath);
    await this.#hooks.remove(repoPath, repository?.commonDir);
    if (repository !== undefined) this.#parts.onChange(repository.commonDir);
    await this.#list.delete(repoPath);
  }

  async #find({ repoPath }: Pick<FollowRequest, "repoPath">): Promise<{ git: Git; repository: Repository }> {
    const git = this.#program.at(repoPath);
    const repository = await requireRepository(git);
    if (repository.isBare) {
      const message = `${repository.root} is bare: it has no main tree that could follow`;
      throw new ServiceError("not_a_repository", message);
    }
    for (const path of [repository.mainRoot, repository.commonDir]) await requireOwn(path);
    return { git, repository };
  }

  async #checkAhead(
    git: Git,
    repository: Repository,
    branch: string | undefined,
  ): Promise<{ readonly worktree: WorktreeEntry; readonly check: Check }> {
    const worktree = await findWorktree(git, repository, branch);
    const settings = { worktreePath: worktree.path, branch: undefined };
    const check = await checkOnce(git, repository, settings, { kind: "enable" });
    const { main, worktree: tree } = check.state;
    if (main.head === undefined)
      throw new ServiceError("branch_not_found", "the main tree has no commit yet");
    if (main.isBusy)
      throw new ServiceError(
        "uncommitted_changes",
        "the main tree is in the middle of a rebase or a bisection: finish that first",
      );
    if (typeof tree === "string")
      throw new ServiceError("worktree_not_found", `${worktree.path} is not there`);
    if (tree.branch === undefined || tree.head === undefined) {
      throw new ServiceError(
        "branch_not_found",
        `${worktree.path} is on no branch with commits: switch it to one`,
      );
    }
    return { worktree, check };
  }

  #requireRoom(repoPath: string, user: string): void {
    const others = this.#list.entries.filter((entry) => entry.repoPath !== repoPath);
    const own = others.filter((entry) => entry.user === user);
    if (others.length < MAX_FOLLOWED_REPOSITORIES && own.length < MAX_FOLLOWED_OF_USER) return;
    const message =
      own.length < MAX_FOLLOWED_OF_USER
        ? `follow mode is on in ${MAX_FOLLOWED_REPOSITORIES} repositories: turn it off in one`
        : `follow mode is on in ${MAX_FOLLOWED_OF_USER} repositories of yours: turn it off in one`;
    throw new ServiceError("invalid_request", message);
  }
}

const NO_FOLLOW = { enabled: false, followMode: false, followBranch: null, currentBranch: null };

function enabledReply({ mainRoot }: Repository, { path, branch }: WorktreeEntry) {
  const named = branch === undefined ? {} : { branch };
  return { success: true, enabled: true, repoPath: mainRoot, worktreePath: path, ...named } as const;
}

function disabledReply({ mainRoot }: Repository) {
  return { success: true, enabled: false, repoPath: mainRoot, hooksInstalled: false, synced: false } as const;
}

async function findWorktree(
  git: Git,
  repository: Repository,
  branch: string | undefined,
): Promise<WorktreeEntry> {
  const linked = (await readWorktrees(git, repository)).filter(({ isMain }) => !isMain);
  if (branch === undefined) {
    const here = linked.find(({ path }) => path === repository.root);
    if (here !== undefined) return here;
    throw new ServiceError("invalid_request", "this is the main tree: say which branch it is to follow");
  }
  const name = shortBranchName(branch);
  const found = linked.find((entry) => entry.branch === name);
  if (found !== undefined) return found;
  const message = `no worktree has the branch ${name}: make one with \`git worktree add\``;
  throw new ServiceError("worktree_not_found", message);
}

async function branchOf(git: Git): Promise<string | undefined> {
  const run = await git.try("symbolic-ref", "--quiet", "HEAD");
  return run.code === 0 ? run.stdout.trimEnd().replace(/^refs\/heads\//, "") : undefined;
}
