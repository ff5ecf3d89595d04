import { z } from "zod";
import { BranchName, GitPath } from "./git.ts";

/** The body of POST /api/worktrees/follow, also with the names of VibeTunnel's clients (facts 6.7). */
export const SetFollow = z
  .object({
    ...{ repoPath: GitPath.optional(), gitRepoPath: GitPath.optional() },
    ...{ branch: BranchName.optional(), targetBranch: BranchName.optional() },
    enable: z.boolean().optional(),
    enabled: z.boolean().optional(),
    dryRun: z.boolean().default(false).describe("only report the steps"),
  })
  .transform(({ repoPath, gitRepoPath, branch, targetBranch, enable, enabled, dryRun }, context) => {
    const path = repoPath ?? gitRepoPath;
    const isOn = enable ?? enabled;
    if (path === undefined) context.addIssue({ code: "custom", path: ["repoPath"], message: "is missing" });
    if (isOn === undefined) context.addIssue({ code: "custom", path: ["enable"], message: "is missing" });
    return { repoPath: path ?? "", branch: branch ?? targetBranch, enable: isOn ?? false, dryRun };
  });

export const FollowReply = z.object({
  success: z.literal(true),
  enabled: z.boolean(),
  message: z.string(),
  repoPath: z.string(),
  branch: z.string().optional(),
  worktreePath: z.string().optional(),
  hooksInstalled: z.boolean(),
  synced: z.boolean().describe("whether the main worktree is at the commit of the worktree"),
  steps: z.array(z.string()).describe("one sentence for each step, with dryRun not taken"),
});
export type FollowReply = z.infer<typeof FollowReply>;

/** GET /api/git/follow (contract 7.3); the last four members are for VibeTunnel's clients. */
export const FollowStatus = z.object({
  enabled: z.boolean(),
  repoPath: z.string().optional(),
  branch: z.string().optional().describe("the branch of the followed worktree"),
  worktreePath: z.string().optional(),
  isGitRepo: z.boolean(),
  followMode: z.boolean(),
  followBranch: z.string().nullable(),
  currentBranch: z.string().nullable(),
});
export type FollowStatus = z.infer<typeof FollowStatus>;

/** The body of POST /api/git/event. The change itself is read from the repository. */
export const GitEvent = z.object({
  repoPath: GitPath,
  branch: z.string().max(1024).optional(),
  event: z.string().max(64).optional(),
});

export const GitEventReply = z.object({
  success: z.literal(true),
  repoPath: z.string(),
  sessionsUpdated: z.int(),
  followMode: z.boolean(),
  notification: z.object({
    type: z.literal("git-event"),
    repoPath: z.string(),
    branch: z.string().optional(),
    event: z.string().optional(),
    followMode: z.boolean(),
    sessionsUpdated: z.array(z.string()),
  }),
});

/** A notification of follow mode (contract 7.6, facts 6.12). */
export const GitNotification = z.object({
  type: z.enum(["main-synced", "worktree-synced", "sync-failed", "follow-enabled", "follow-disabled"]),
  level: z.enum(["info", "error"]),
  title: z.string(),
  message: z.string(),
  repoPath: z.string(),
  branch: z.string().optional(),
  timestamp: z.string(),
});
export type GitNotification = z.infer<typeof GitNotification>;

export const Notifications = z.object({ notifications: z.array(GitNotification) });

export const NotificationQuery = z.object({
  client: z.string().max(128).optional().describe("distinguishes clients of one login"),
});
