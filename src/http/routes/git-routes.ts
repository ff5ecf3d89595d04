import { basename, join, normalize } from "node:path";
import { readBranches } from "../../git/branches.ts";
import { discoverRepositories, homeRelative } from "../../git/discovery.ts";
import type { Git, GitCaller, GitProgram } from "../../git/git.ts";
import { readOrigin } from "../../git/origin.ts";
import { gitHubUrl } from "../../git/remote-url.ts";
import { findRepository, type Repository } from "../../git/repository.ts";
import { type Status, statusOf } from "../../git/status.ts";
import type { Worktree, WorktreeListing } from "../../git/worktree-listing.ts";
import type { Worktrees } from "../../git/worktrees.ts";
import type { RepositoryStatus, WorktreeList, WorktreeRecord } from "../../protocol/git.ts";
import { type Context, JsonBytes, type Routes } from "../route.ts";

export type GitRouteParts = { readonly program: GitProgram; readonly worktrees: Worktrees };

/** Repositories and working trees of this machine, as the user who asks may see and change them. */
export function gitRoutes({ program, worktrees }: GitRouteParts): Routes {
  const folder = async (named: NamedPath, context: Context): Promise<Git> =>
    program.at(await absolute(program, pathOf(named), context), callerOf(context));
  return { ...worktreeRoutes({ program, worktrees }), ...queryRoutes(folder), ...discoverRoute(program) };
}

function worktreeRoutes({ program, worktrees }: GitRouteParts): Routes {
  const folder = (named: NamedPath, context: Context): Promise<string> =>
    absolute(program, pathOf(named), context);
  // A listing is answered many times while it is kept.
  const answers = new WeakMap<WorktreeListing, JsonBytes>();
  return {
    listWorktrees: async ({ query }, context) => {
      const listing = await worktrees.list(await folder(query, context), callerOf(context));
      const answer = answers.get(listing) ?? jsonBytes(worktreeList(listing));
      answers.set(listing, answer);
      return answer;
    },
    createWorktree: async ({ body: { path: wanted, branch, baseBranch, ...named } }, context) => {
      const path = wanted === undefined ? undefined : await absolute(program, wanted, context);
      const request = { branch, baseBranch, path };
      const made = await worktrees.add(await folder(named, context), request, callerOf(context));
      return { ...made, worktreePath: made.path, message: "Worktree created successfully" };
    },
    removeWorktree: async ({ params: { branch }, query }, context) => {
      const removal = { branch, isForced: query.force === "true" || query.force === "1" };
      const path = await folder(query, context);
      const removedPath = await worktrees.remove(path, removal, callerOf(context));
      return { success: true, message: "Worktree removed successfully", removedPath };
    },
    pruneWorktrees: async ({ body }, context) => {
      const { paths, output } = await worktrees.prune(await folder(body, context), callerOf(context));
      const message = "Worktree information pruned successfully";
      return { success: true, message, output, pruned: paths.length > 0, worktrees: [...paths] };
    },
    switchBranch: async ({ body }, context) => {
      const path = await folder(body, context);
      const { branch, isFollowing } = await worktrees.switchTo(path, body.branch, callerOf(context));
      const message = isFollowing ? "Switched to branch and enabled follow mode" : "Switched to branch";
      return { success: true, message, branch, currentBranch: branch, following: isFollowing };
    },
  };
}

function queryRoutes(folder: (named: NamedPath, context: Context) => Promise<Git>): Routes {
  const inRepository = async <T>(
    named: NamedPath,
    context: Context,
    answer: (git: Git, repository: Repository) => Promise<T>,
  ): Promise<({ isGitRepo: true; repoPath: string } & T) | { isGitRepo: false }> => {
    const git = await folder(named, context);
    const repository = await findRepository(git);
    if (repository === undefined) return { isGitRepo: false };
    return { isGitRepo: true, repoPath: repository.root, ...(await answer(git, repository)) };
  };
  return {
    repositoryInfo: ({ query }, context) => inRepository(query, context, async () => ({})),
    repositoryStatus: ({ query }, context) =>
      inRepository(query, context, async (git, repository) => ({
        ...numbers(await statusIn(git, repository)),
      })),
    repositoryRemote: ({ query }, context) =>
      inRepository(query, context, async (git) => remoteOf(await readOrigin(git))),
    repositorySummary: ({ query }, context) =>
      inRepository(query, context, async (git, repository) => {
        const [status, remoteUrl] = await Promise.all([statusIn(git, repository), readOrigin(git)]);
        const { currentBranch = null, ...rest } = numbers(status);
        return { currentBranch, remoteUrl: remoteUrl ?? null, isWorktree: repository.isWorktree, ...rest };
      }),
    listBranches: async ({ query }, context) =>
      (await readBranches(await folder(query, context))).map(({ name, isCurrent, isRemote, worktree }) => ({
        ...{ name, current: isCurrent, remote: isRemote },
        ...(worktree === undefined ? {} : { worktree }),
      })),
  };
}

function discoverRoute(program: GitProgram): Routes {
  return {
    discoverRepositories: async ({ query: { path, maxDepth } }, context) => {
      // The folder itself may not be there.
      const git = program.at("/", callerOf(context));
      const root = await absolute(program, path, context);
      const home = await program.home(context.principal?.account);
      return (await discoverRepositories(git, root, maxDepth)).map((found) => ({
        id: `${basename(found.path)}-${found.inode}`,
        path: found.path,
        folderName: basename(found.path),
        lastModified: found.modifiedAt.toISOString(),
        relativePath: homeRelative(found.path, home),
        ...(found.branch === undefined ? {} : { gitBranch: found.branch }),
      }));
    },
  };
}

type NamedPath = {
  readonly repoPath?: string | undefined;
  readonly gitRepoPath?: string | undefined;
  readonly path?: string | undefined;
};

/** One of them is there: the schemas see to it. */
function pathOf({ repoPath, gitRepoPath, path }: NamedPath): string {
  return repoPath ?? gitRepoPath ?? path ?? "~";
}

export async function absolute(program: GitProgram, path: string, { principal }: Context): Promise<string> {
  if (!path.startsWith("~")) return normalize(path);
  return join(await program.home(principal?.account), path.slice(1));
}

function callerOf({ principal, signal }: Context): GitCaller {
  return { account: principal?.account, signal };
}

/** A bare repository has no files that could differ. */
async function statusIn(git: Git, { isBare }: Repository): Promise<Status | undefined> {
  return isBare ? undefined : await statusOf(git);
}

function numbers(status: Status | undefined): Omit<RepositoryStatus, "isGitRepo" | "repoPath"> {
  if (status === undefined) return {};
  return {
    ...(status.branch === undefined ? {} : { currentBranch: status.branch }),
    ...{ hasChanges: status.hasChanges, hasUpstream: status.hasUpstream },
    ...{ modifiedCount: status.modified, untrackedCount: status.untracked, stagedCount: status.staged },
    ...{ addedCount: status.added, deletedCount: status.deleted },
    ...{ aheadCount: status.ahead, behindCount: status.behind },
  };
}

function remoteOf(url: string | undefined): { remoteUrl: string | null; githubUrl: string | null } {
  return { remoteUrl: url ?? null, githubUrl: (url && gitHubUrl(url)) ?? null };
}

function jsonBytes(list: WorktreeList): JsonBytes {
  return new JsonBytes(new TextEncoder().encode(JSON.stringify(list)));
}

function worktreeList({ repository, base, followBranch, worktrees }: WorktreeListing): WorktreeList {
  return {
    ...{ baseBranch: base.name, repoPath: repository.root },
    ...(followBranch === undefined ? {} : { followBranch }),
    worktrees: worktrees.map(worktreeRecord),
  };
}

function worktreeRecord(worktree: Worktree): WorktreeRecord {
  const { path, head, branch, locked, prunable, isBare, isMain, isCurrent, isFollowed, stats } = worktree;
  return {
    path,
    branch: branch === undefined ? "HEAD" : `refs/heads/${branch}`,
    HEAD: head ?? "",
    ...{ detached: branch === undefined && !isBare, bare: isBare },
    ...{ locked: locked !== undefined, prunable: prunable !== undefined },
    ...(locked === undefined || locked === "" ? {} : { lockedReason: locked }),
    ...{ isMain, isCurrent, isFollowed, isMainWorktree: isMain, isCurrentWorktree: isCurrent },
    ...(stats === undefined ? {} : { ...stats, stats }),
    ...(worktree.isDirty === undefined ? {} : { hasUncommittedChanges: worktree.isDirty }),
  };
}
