import { z } from "zod";
import {
  BranchRecord,
  CreateWorktree,
  DiscoveredRepository,
  DiscoverQuery,
  RemoveWorktreeQuery,
  RepositoryBody,
  RepositoryInfo,
  RepositoryQuery,
  RepositoryRemote,
  RepositoryStatus,
  RepositorySummary,
  SwitchBranch,
  WorktreeList,
} from "../schemas/git.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const git = { tag: "git", access: "user", limit: "api", host: true } as const;
/** What every question to git may come to. */
const COMMON = ["forbidden", "git_failed", "git_busy", "git_unavailable", "git_timeout"] as const;
const QUESTION = ["not_a_repository", ...COMMON] as const;

/** Repositories and working trees of the server's machine (specification 4.6, contract 7). */
export const gitEndpoints = {
  listWorktrees: {
    ...git,
    method: "get",
    path: "/api/worktrees",
    summary: "The worktrees of a repository and how they stand, up to 5 s old",
    query: RepositoryQuery,
    reply: { status: 200, json: WorktreeList },
    errors: QUESTION,
  },
  createWorktree: {
    ...git,
    method: "post",
    path: "/api/worktrees",
    summary: "A new worktree, on a branch that there is or a new one",
    body: CreateWorktree,
    reply: {
      status: 201,
      json: z.object({
        path: z.string(),
        branch: z.string(),
        worktreePath: z.string().describe("path, for old clients"),
        message: z.string(),
      }),
    },
    errors: [
      ...(["invalid_branch_name", "branch_not_found", "branch_exists", "branch_checked_out"] as const),
      ...(["worktree_path_exists", ...QUESTION] as const),
    ],
  },
  removeWorktree: {
    ...git,
    method: "delete",
    path: "/api/worktrees/:branch",
    summary: "Remove the worktree of a branch; the branch stays",
    params: z.object({ branch: z.string().max(1024) }),
    query: RemoveWorktreeQuery,
    reply: { status: 200, json: Success.extend({ message: z.string(), removedPath: z.string() }) },
    errors: [
      ...(["worktree_not_found", "uncommitted_changes", "main_worktree", "worktree_locked"] as const),
      ...QUESTION,
    ],
  },
  pruneWorktrees: {
    ...git,
    method: "post",
    path: "/api/worktrees/prune",
    summary: "Forget worktrees whose folders are gone",
    body: RepositoryBody,
    reply: {
      status: 200,
      json: Success.extend({
        message: z.string(),
        output: z.string().describe("what git said"),
        pruned: z.boolean().describe("whether there were any"),
        worktrees: z.array(z.string()).describe("their paths"),
      }),
    },
    errors: QUESTION,
  },
  switchBranch: {
    ...git,
    method: "post",
    path: "/api/worktrees/switch",
    summary: "Bring the main worktree onto a branch, and follow the worktree that is on it",
    body: SwitchBranch,
    reply: {
      status: 200,
      json: Success.extend({
        message: z.string(),
        branch: z.string(),
        currentBranch: z.string(),
        following: z.boolean().describe("false where no linked worktree is on the branch"),
      }),
    },
    errors: ["invalid_branch_name", "branch_not_found", "uncommitted_changes", ...QUESTION],
  },
  repositoryInfo: {
    ...git,
    method: "get",
    path: "/api/git/repo-info",
    summary: "Whether a folder is in a repository, and where that is",
    query: RepositoryQuery,
    reply: { status: 200, json: RepositoryInfo },
    errors: COMMON,
  },
  repositoryStatus: {
    ...git,
    method: "get",
    path: "/api/git/status",
    summary: "Branch, changed files, and how it stands to its upstream",
    query: RepositoryQuery,
    reply: { status: 200, json: RepositoryStatus },
    errors: COMMON,
  },
  repositoryRemote: {
    ...git,
    method: "get",
    path: "/api/git/remote",
    summary: "Where origin is",
    query: RepositoryQuery,
    reply: { status: 200, json: RepositoryRemote },
    errors: COMMON,
  },
  repositorySummary: {
    ...git,
    method: "get",
    path: "/api/git/repository-info",
    summary: "Status and origin in one",
    query: RepositoryQuery,
    reply: { status: 200, json: RepositorySummary },
    errors: COMMON,
  },
  listBranches: {
    ...git,
    method: "get",
    path: "/api/repositories/branches",
    summary: "The branches of a repository: the current one first",
    query: RepositoryQuery,
    reply: { status: 200, json: z.array(BranchRecord) },
    errors: QUESTION,
  },
  discoverRepositories: {
    ...git,
    method: "get",
    path: "/api/repositories/discover",
    summary: "The repositories below a folder, hidden folders left out",
    query: DiscoverQuery,
    reply: { status: 200, json: z.array(DiscoveredRepository) },
    errors: COMMON,
  },
} as const satisfies Record<string, Endpoint>;
