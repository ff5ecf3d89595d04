// The repository endpoints (specification 4.6, contract 7), answered with the rights of this process.
import { join, normalize } from "node:path";
import type { EndpointInput, EndpointOutput } from "../../protocol/endpoints/endpoint.ts";
import type { Endpoints } from "../../protocol/endpoints/endpoints.ts";
import type { gitEndpoints } from "../../protocol/endpoints/git.ts";
import type { RepositoryStatus } from "../../protocol/schemas/git.ts";
import { discoverRepositories } from "../discovery.ts";
import type { FollowMode } from "../follow/follow-mode.ts";
import type { Git, GitProgram } from "../git.ts";
import { findRepository, type Repository } from "../repository.ts";
import { readLosses, statusOf } from "../status/status.ts";
import { readBranches } from "../worktrees/branches.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { RepositoryEvent } from "./methods.ts";

/** Notifications are kept by the host. */
export type RepositoryEndpoint = Exclude<keyof typeof gitEndpoints, "listNotifications">;

export type Caller = { readonly user: string; readonly signal: AbortSignal };

type Output<Name extends RepositoryEndpoint> = Name extends "gitEvent"
  ? RepositoryEvent
  : EndpointOutput<Endpoints[Name]>;

export type Answers = {
  readonly [Name in RepositoryEndpoint]: (
    input: EndpointInput<Endpoints[Name]>,
    caller: Caller,
  ) => Promise<Output<Name>>;
};

type Parts = { readonly program: GitProgram; readonly worktrees: Worktrees; readonly follow: FollowMode };

export function repositoryAnswers(parts: Parts): Answers {
  return { ...worktreeAnswers(parts), ...queryAnswers(parts), ...followAnswers(parts) };
}

function worktreeAnswers({ program, worktrees }: Parts) {
  const folder = (named: NamedPath): string => pathIn(program, named);
  return {
    listWorktrees: ({ query }) => worktrees.list(folder(query)),
    createWorktree: async ({ body: { path: wanted, branch, baseBranch, ...named } }, caller) => {
      const path = wanted === undefined ? undefined : absolute(program, wanted);
      const made = await worktrees.add(folder(named), { branch, baseBranch, path }, caller);
      return { ...made, worktreePath: made.path, message: "Worktree created successfully" };
    },
    removeWorktree: async ({ params: { branch }, query }, caller) => {
      const removal = { branch, isForced: query.force === "true" || query.force === "1" };
      const removedPath = await worktrees.remove(folder(query), removal, caller);
      return { success: true, message: "Worktree removed successfully", removedPath };
    },
    pruneWorktrees: async ({ body }, caller) => {
      const { paths, output } = await worktrees.prune(folder(body), caller);
      const message = "Worktree information pruned successfully";
      return { success: true, message, output, pruned: paths.length > 0, worktrees: [...paths] };
    },
    switchBranch: async ({ body }, caller) => {
      const { branch, isFollowing } = await worktrees.switchTo(folder(body), body.branch, caller);
      const message = isFollowing ? "Switched to branch and enabled follow mode" : "Switched to branch";
      return { success: true, message, branch, currentBranch: branch, following: isFollowing };
    },
  } satisfies Partial<Answers>;
}

function queryAnswers({ program }: Parts) {
  const at = (named: NamedPath, { signal }: Caller): Git => program.at(pathIn(program, named), signal);
  return {
    repositoryInfo: ({ query }, caller) => inRepository(at(query, caller), async () => ({})),
    repositoryStatus: ({ query }, caller) =>
      inRepository(at(query, caller), async (git, repository) => {
        const counts = await readCounts(git, repository);
        if (query.losses === "0" || repository.isBare) return counts;
        return { ...counts, losses: await readLosses(git.at(repository.root)) };
      }),
    repositoryRemote: ({ query }, caller) =>
      inRepository(at(query, caller), async (git) => {
        const remoteUrl = (await readOrigin(git)) ?? null;
        return { remoteUrl, githubUrl: (remoteUrl && gitHubUrl(remoteUrl)) ?? null };
      }),
    repositorySummary: ({ query }, caller) =>
      inRepository(at(query, caller), async (git, repository) => {
        const [counts, remoteUrl = null] = await Promise.all([readCounts(git, repository), readOrigin(git)]);
        const { currentBranch = null } = counts;
        return { remoteUrl, isWorktree: repository.isWorktree, ...counts, currentBranch };
      }),
    listBranches: ({ query }, caller) => readBranches(at(query, caller)),
    discoverRepositories: ({ query: { path, maxDepth } }, { signal }) => {
      const { home } = program;
      // The folder may be missing.
      const git = program.at("/", signal);
      return discoverRepositories(git, { root: absolute(program, path), maxDepth, home });
    },
  } satisfies Partial<Answers>;
}

function followAnswers({ program, follow }: Parts) {
  return {
    setFollow: ({ body: { enable, dryRun, branch, repoPath } }, { user }) => {
      const request = { repoPath: absolute(program, repoPath), branch, user, dryRun };
      return enable ? follow.enable(request) : follow.disable(request);
    },
    getFollow: ({ query }) => follow.status(pathIn(program, query)),
    gitEvent: ({ body }) => follow.changed(absolute(program, body.repoPath)),
  } satisfies Partial<Answers>;
}

type NamedPath = {
  readonly repoPath?: string | undefined;
  readonly gitRepoPath?: string | undefined;
  readonly path?: string | undefined;
};

function pathIn(program: GitProgram, { repoPath, gitRepoPath, path }: NamedPath): string {
  return absolute(program, repoPath ?? gitRepoPath ?? path ?? "~");
}

function absolute(program: GitProgram, path: string): string {
  return path.startsWith("~") ? join(program.home, path.slice(1)) : normalize(path);
}

async function inRepository<T>(
  git: Git,
  answer: (git: Git, repository: Repository) => Promise<T>,
): Promise<({ isGitRepo: true; repoPath: string } & T) | { isGitRepo: false }> {
  const repository = await findRepository(git);
  if (repository === undefined) return { isGitRepo: false };
  return { isGitRepo: true, repoPath: repository.root, ...(await answer(git, repository)) };
}

async function readCounts(
  git: Git,
  { isBare }: Repository,
): Promise<Omit<RepositoryStatus, "isGitRepo" | "repoPath">> {
  if (isBare) return {};
  const { branch, upstream, ahead = 0, behind = 0, hasChanges, counts } = await statusOf(git);
  const hasUpstream = upstream !== undefined;
  return {
    currentBranch: branch,
    hasChanges,
    hasUpstream,
    ...counts,
    aheadCount: ahead,
    behindCount: behind,
  };
}

/** The URL of the remote origin without its password; `undefined` without such a remote. */
async function readOrigin(git: Git): Promise<string | undefined> {
  // git fetches from the first of several URLs.
  const url = (await git.config()).find(({ key }) => key === "remote.origin.url")?.value;
  return url === undefined ? undefined : withoutPassword(url);
}

/** The URL without its password. The user name belongs to the address of ssh. */
export function withoutPassword(url: string): string {
  const [, scheme, userinfo, rest] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@(.*)$/is.exec(url) ?? [];
  if (scheme === undefined || userinfo === undefined || rest === undefined) return url;
  const isWeb = /^https?:/i.test(scheme);
  // A token may be in either half.
  const [user = ""] = userinfo.split(":", 1);
  return isWeb || user === "" ? `${scheme}${rest}` : `${scheme}${user}@${rest}`;
}

/** The page of a repository on GitHub; `undefined` for other URLs. */
export function gitHubUrl(url: string): string | undefined {
  const path =
    /^(?:https?|git|ssh):\/\/(?:[^/@]*@)?(?:www\.)?github\.com(?::\d+)?\/(.+)$/i.exec(url)?.[1] ??
    /^(?:[^/@:]+@)?github\.com:(.+)$/i.exec(url)?.[1];
  const [, owner, name] = /^\/?([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(path ?? "") ?? [];
  return owner === undefined || name === undefined ? undefined : `https://github.com/${owner}/${name}`;
}
