import { z } from "zod";
import {
  FollowReply,
  FollowStatus,
  GitEvent,
  GitEventReply,
  NotificationQuery,
  Notifications,
  SetFollow,
} from "../schemas/follow.ts";
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
  StatusQuery,
  SwitchBranch,
  WorktreeList,
} from "../schemas/git.ts";
import { endpointsWith, json, Success } from "./endpoint.ts";

const COMMON = ["forbidden", "git_failed", "git_busy", "git_unavailable", "git_timeout"] as const;
const IN_REPOSITORY = ["not_a_repository", ...COMMON] as const;

/** For queries about a folder, which need not be in a repository. */
const folder = endpointsWith({
  ...{ tag: "git", need: "repositories:use", host: true },
  ...{ query: RepositoryQuery, errors: COMMON },
});
const git = endpointsWith({ tag: "git", need: "repositories:use", host: true, errors: IN_REPOSITORY });

/** Repositories and worktrees of the server's machine, and follow mode (specification 3.3 and 4.6, contract 7). */
export const gitEndpoints = {
  listWorktrees: git.get("/api/worktrees", "The worktrees of a repository and their status, up to 5 s old", {
    query: RepositoryQuery,
    reply: json(WorktreeList),
  }),
  createWorktree: git.post("/api/worktrees", "Create a worktree on an existing or new branch", {
    body: CreateWorktree,
    reply: json(
      z.object({
        path: z.string(),
        branch: z.string(),
        worktreePath: z.string().describe("path, for VibeTunnel's clients"),
        message: z.string(),
      }),
      201,
    ),
    errors: [
      "invalid_branch_name",
      "branch_not_found",
      "branch_exists",
      "branch_checked_out",
      "worktree_path_exists",
      ...IN_REPOSITORY,
    ],
  }),
  removeWorktree: git.delete("/api/worktrees/:branch", "Remove the worktree of a branch but not the branch", {
    params: z.object({ branch: z.string().max(1024) }),
    query: RemoveWorktreeQuery,
    reply: json(Success.extend({ message: z.string(), removedPath: z.string() })),
    errors: [
      "worktree_not_found",
      "uncommitted_changes",
      "main_worktree",
      "worktree_locked",
      ...IN_REPOSITORY,
    ],
  }),
  pruneWorktrees: git.post("/api/worktrees/prune", "Forget worktrees whose folders are gone", {
    body: RepositoryBody,
    reply: json(
      Success.extend({
        message: z.string(),
        output: z.string().describe("the output of git"),
        pruned: z.boolean().describe("whether there were any"),
        worktrees: z.array(z.string()).describe("their paths"),
      }),
    ),
  }),
  switchBranch: git.post(
    "/api/worktrees/switch",
    "Switch the main worktree to a branch and follow its worktree",
    {
      body: SwitchBranch,
      reply: json(
        Success.extend({
          message: z.string(),
          branch: z.string(),
          currentBranch: z.string(),
          following: z.boolean().describe("false if no linked worktree is on the branch"),
        }),
      ),
      errors: ["invalid_branch_name", "branch_not_found", "uncommitted_changes", ...IN_REPOSITORY],
    },
  ),
  repositoryInfo: folder.get("/api/git/repo-info", "The repository of a folder, if it is in one", {
    reply: json(RepositoryInfo),
  }),
  repositoryStatus: folder.get("/api/git/status", "Branch, changed files, and commits ahead and behind", {
    query: StatusQuery,
    reply: json(RepositoryStatus),
  }),
  repositoryRemote: folder.get("/api/git/remote", "The URL of origin", { reply: json(RepositoryRemote) }),
  repositorySummary: folder.get("/api/git/repository-info", "Status and URL of origin", {
    reply: json(RepositorySummary),
  }),
  listBranches: git.get("/api/repositories/branches", "The branches of a repository, the current one first", {
    query: RepositoryQuery,
    reply: json(z.array(BranchRecord)),
  }),
  discoverRepositories: folder.get(
    "/api/repositories/discover",
    "Repositories below a folder, without hidden ones",
    {
      query: DiscoverQuery,
      reply: json(z.array(DiscoveredRepository)),
    },
  ),
  setFollow: git.post("/api/worktrees/follow", "Start or stop following a worktree in the main worktree", {
    body: SetFollow,
    reply: json(FollowReply),
    errors: [
      "not_a_repository",
      "worktree_not_found",
      "branch_not_found",
      "invalid_branch_name",
      "git_failed",
    ],
  }),
  getFollow: git.get(
    "/api/git/follow",
    "The worktree that the main worktree of a repository follows, if any",
    {
      query: RepositoryQuery,
      reply: json(FollowStatus),
      errors: ["git_failed"],
    },
  ),
  gitEvent: git.post("/api/git/event", "Report a change in a repository, as git's hooks do", {
    body: GitEvent,
    reply: json(GitEventReply),
    errors: ["not_a_repository", "git_failed"],
  }),
  listNotifications: git.get("/api/git/notifications", "Notifications of follow mode, once to each client", {
    query: NotificationQuery,
    reply: json(Notifications),
    errors: [],
  }),
};
