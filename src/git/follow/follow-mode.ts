// Follow mode of all repositories of one user: finds the repository of a request, which that repository carries out.
import { KeyedSingleFlight } from "../../lib/async/single-flight.ts";
import { ServiceError, unless } from "../../protocol/errors.ts";
import type { FollowReply, FollowStatus } from "../../protocol/schemas/follow.ts";
import type { Git } from "../git.ts";
import { requireOwn } from "../hooks/files.ts";
import { findRepository, type Repository, requireRepository } from "../repository.ts";
import type { RepositoryEvent } from "../worker/methods.ts";
import { currentBranch } from "../worktrees/branches.ts";
import { readWorktrees } from "../worktrees/list.ts";
import {
  FollowedRepository,
  type FollowedRepositoryParts,
  type FollowRequest,
} from "./followed-repository.ts";
import { readFollowSettings } from "./settings.ts";

export class FollowMode implements AsyncDisposable {
  readonly #parts: FollowedRepositoryParts;
  /** By the path of the main tree; kept after the end of follow mode, as requests may wait for their turn there. */
  readonly #repositories = new Map<string, FollowedRepository>();
  /** Repositories of changed trees, by the reported path. */
  readonly #searches = new KeyedSingleFlight<Repository>();

  constructor(parts: FollowedRepositoryParts) {
    this.#parts = parts;
  }

  /** Checks the repositories of the list, which an earlier process followed. */
  resume(): void {
    for (const { repoPath } of this.#parts.list.entries) this.#repository(repoPath).hint();
  }

  /** One of the repository's trees has changed. Resolves when both are in sync. Requests at the same time share a check. */
  async changed(repoPath: string): Promise<RepositoryEvent> {
    const git = this.#parts.program.at(repoPath);
    const { mainRoot } = await this.#searches.ask(repoPath, () => this.#repositoryAt(git));
    if (this.#parts.list.get(mainRoot) !== undefined) await this.#repository(mainRoot).check();
    const followMode = this.#parts.list.get(mainRoot) !== undefined;
    return { repoPath: mainRoot, branch: await currentBranch(git), followMode };
  }

  /**
   * The main tree follows the worktree of the branch; without one, the worktree of `repoPath`. Conflicting edits delay
   * the switch (`synced` is false). Throws `not_a_repository`, `worktree_not_found`, `branch_not_found`, and
   * `uncommitted_changes` during a rebase.
   */
  async enable(request: FollowRequest): Promise<FollowReply> {
    const { git, repository } = await this.#find(request);
    return await this.#repository(repository.mainRoot).enable(git, repository, request);
  }

  /** Idempotent. The main tree stays at its commit; HEAD is detached where both trees shared the branch. */
  async disable(request: FollowRequest): Promise<FollowReply> {
    const { git, repository } = await this.#find(request);
    return await this.#repository(repository.mainRoot).disable(git, repository, request);
  }

  async status(repoPath: string): Promise<FollowStatus> {
    const git = this.#parts.program.at(repoPath);
    const repository = await this.#repositoryAt(git).catch(unless("not_a_repository"));
    if (repository === undefined) return { ...NO_FOLLOW, isGitRepo: false };
    const [settings, current] = await Promise.all([readFollowSettings(git), currentBranch(git)]);
    const here = { isGitRepo: true, repoPath: repository.mainRoot, currentBranch: current ?? null };
    if (settings === undefined) return { ...NO_FOLLOW, ...here };
    const { worktreePath } = settings;
    const branch = (await readWorktrees(git, repository)).find(({ path }) => path === worktreePath)?.branch;
    return { ...here, branch, worktreePath, enabled: true, followMode: true, followBranch: branch ?? null };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#repositories.values()].map((repository) => repository[Symbol.asyncDispose]()),
    );
  }

  #repository(repoPath: string): FollowedRepository {
    const repository = this.#repositories.get(repoPath) ?? new FollowedRepository(repoPath, this.#parts);
    this.#repositories.set(repoPath, repository);
    return repository;
  }

  async #find({ repoPath }: FollowRequest): Promise<{ readonly git: Git; readonly repository: Repository }> {
    const git = this.#parts.program.at(repoPath);
    const repository = await this.#repositoryAt(git);
    const { commonDir, mainRoot, isBare } = repository;
    if (mainRoot === commonDir) {
      const why = isBare ? "is bare: it has no" : "is bare or elsewhere: here git does not know a";
      throw new ServiceError("not_a_repository", `${commonDir} ${why} main tree that could follow`);
    }
    for (const path of [mainRoot, commonDir]) await requireOwn(path);
    return { git, repository };
  }

  /**
   * Throws `not_a_repository`. From a linked worktree git does not know the main tree if the git directory is elsewhere
   * (`git init --separate-git-dir`): that of a followed repository is in the list.
   */
  async #repositoryAt(git: Git): Promise<Repository> {
    const repository = await requireRepository(git);
    if (repository.isBare || repository.mainRoot !== repository.commonDir) return repository;
    for (const { repoPath } of this.#parts.list.entries) {
      const known = await findRepository(git.at(repoPath)).catch(() => undefined);
      if (known?.commonDir === repository.commonDir) return { ...repository, mainRoot: repoPath };
    }
    return repository;
  }
}

const NO_FOLLOW = { enabled: false, followMode: false, followBranch: null, currentBranch: null };
