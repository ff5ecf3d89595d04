import {
  FollowReply,
  FollowStatus,
  GitEvent,
  GitEventReply,
  NotificationQuery,
  Notifications,
  SetFollow,
} from "../schemas/follow.ts";
import { RepositoryQuery } from "../schemas/git.ts";
import type { Endpoint } from "./endpoint.ts";

const git = { tag: "git", access: "user", limit: "api", host: true } as const;

/** Follow mode (specification 3.3, contract 7.3 to 7.6). */
export const followEndpoints = {
  setFollow: {
    ...git,
    method: "post",
    path: "/api/worktrees/follow",
    summary: "Have the main working tree follow a worktree, or end that",
    body: SetFollow,
    reply: { status: 200, json: FollowReply },
    errors: [
      "not_a_repository",
      "worktree_not_found",
      "branch_not_found",
      "invalid_branch_name",
      "git_failed",
    ],
  },
  getFollow: {
    ...git,
    method: "get",
    path: "/api/git/follow",
    summary: "Whether the main working tree of a repository follows a worktree, and which",
    query: RepositoryQuery,
    reply: { status: 200, json: FollowStatus },
    errors: ["git_failed"],
  },
  gitEvent: {
    ...git,
    method: "post",
    path: "/api/git/event",
    summary: "Something has happened in a repository: what git's hooks say",
    body: GitEvent,
    reply: { status: 200, json: GitEventReply },
    errors: ["not_a_repository", "git_failed"],
  },
  listNotifications: {
    ...git,
    method: "get",
    path: "/api/git/notifications",
    summary: "What follow mode has to tell, to each client once",
    query: NotificationQuery,
    reply: { status: 200, json: Notifications },
    errors: [],
  },
} as const satisfies Record<string, Endpoint>;
