import { z } from "zod";
import { MAX_LISTED_LOSSES } from "../limits.ts";

/** A folder on the server's machine. */
export const GitPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => /^(?:\/|~(?:\/|$))/.test(path), "must be absolute, or begin with ~/")
  .refine((path) => !path.includes("\0"), "must not contain a NUL character")
  .describe("an absolute path, or one below the user's home with ~/");

/** Git itself checks the name. */
export const BranchName = z.string().min(1).max(1024);

const path = GitPath.optional();

const PATH_NAMES = ["repoPath", "gitRepoPath"] as const;
const QUERY_PATH_NAMES = [...PATH_NAMES, "path"] as const;
type Paths = { readonly [Name in (typeof QUERY_PATH_NAMES)[number]]?: unknown };

/** A request about a repository, with one of the names that VibeTunnel's clients use for its path (facts 6.7, 6.8). */
function ofRepository<S extends z.ZodRawShape>(shape: S, names: readonly (keyof Paths)[] = PATH_NAMES) {
  const hasPath = (request: Paths): boolean => names.some((name) => request[name] !== undefined);
  return z
    .object({ repoPath: path, gitRepoPath: path, ...shape })
    .refine(hasPath, { error: "is missing", path: ["repoPath"] });
}

export const RepositoryQuery = ofRepository({ path }, QUERY_PATH_NAMES);

/** `losses`: also reports the content that is lost with the worktree. */
export const StatusQuery = ofRepository(
  { path, losses: z.enum(["0", "1"]).default("0").describe("1: with `losses`") },
  QUERY_PATH_NAMES,
);

export const RemoveWorktreeQuery = ofRepository({
  force: z.enum(["true", "false", "1", "0"]).default("false").describe("even with uncommitted changes"),
});

export const RepositoryBody = ofRepository({});

export const CreateWorktree = ofRepository({
  branch: BranchName,
  baseBranch: BranchName.optional().describe("the start of a new branch"),
  path: path.describe("default: the repository's path, a hyphen and the branch"),
});

export const SwitchBranch = ofRepository({ branch: BranchName });

const Count = z.int().min(0);
const stats = {
  commitsAhead: Count.optional().describe("commits that the base branch does not have"),
  commitsBehind: Count.optional().describe("commits of the base branch that are missing here"),
  filesChanged: Count.optional().describe("since the merge base with the base branch, like the next two"),
  insertions: Count.optional(),
  deletions: Count.optional(),
};

export const WorktreeRecord = z.object({
  path: z.string(),
  branch: z.string().describe("refs/heads/NAME; HEAD if detached"),
  HEAD: z.string().describe("the commit; empty if there is none"),
  ...{ detached: z.boolean(), bare: z.boolean(), locked: z.boolean(), prunable: z.boolean() },
  lockedReason: z.string().optional(),
  isMain: z.boolean(),
  isCurrent: z.boolean().describe("the worktree that contains repoPath"),
  isFollowed: z.boolean(),
  isMainWorktree: z.boolean().describe("isMain, for VibeTunnel's clients"),
  isCurrentWorktree: z.boolean().describe("isCurrent, for VibeTunnel's clients"),
  ...stats,
  hasUncommittedChanges: z.boolean().optional().describe("absent if git did not answer in time"),
  stats: z.object(stats).optional().describe("the same numbers, for VibeTunnel's clients"),
});
export type WorktreeRecord = z.infer<typeof WorktreeRecord>;

export const WorktreeList = z.object({
  baseBranch: z.string(),
  repoPath: z.string().describe("the top of the requested worktree"),
  followBranch: z.string().optional(),
  worktrees: z.array(WorktreeRecord),
});
export type WorktreeList = z.infer<typeof WorktreeList>;

/** Outside a repository only `isGitRepo`. */
const place = { isGitRepo: z.boolean(), repoPath: z.string().optional() };

export const RepositoryInfo = z.object(place);

const counts = {
  modifiedCount: Count.optional(),
  untrackedCount: Count.optional(),
  stagedCount: Count.optional(),
  addedCount: Count.optional(),
  deletedCount: Count.optional(),
  aheadCount: Count.optional(),
  behindCount: Count.optional(),
  hasUpstream: z.boolean().optional(),
  hasChanges: z.boolean().optional(),
};

/** Content that only this worktree has. Folders that are untracked or ignored as a whole count as one file. */
export const WorktreeLosses = z.object({
  changed: Count.describe("files with uncommitted changes, staged or not"),
  untracked: Count,
  ignored: Count,
  files: z
    .array(z.object({ path: z.string(), kind: z.enum(["changed", "untracked", "ignored"]) }))
    .max(MAX_LISTED_LOSSES)
    .describe("the first of them, with a slash after folders"),
  unpushed: Count.optional().describe("commits that no branch of a remote has; absent without remotes"),
});
export type WorktreeLosses = z.infer<typeof WorktreeLosses>;

export const RepositoryStatus = z.object({
  ...{ ...place, currentBranch: z.string().optional(), ...counts },
  losses: WorktreeLosses.optional().describe("with losses=1"),
});
export type RepositoryStatus = z.infer<typeof RepositoryStatus>;

const Address = z.string().nullable().describe("without a password; null without an origin");

export const RepositoryRemote = z.object({
  ...place,
  remoteUrl: Address.optional(),
  githubUrl: z.string().nullable().optional().describe("null for another host"),
});

export const RepositorySummary = z.object({
  ...place,
  currentBranch: z.string().nullable().optional(),
  remoteUrl: Address.optional(),
  isWorktree: z.boolean().optional(),
  ...counts,
});

export const BranchRecord = z.object({
  name: z.string().describe("for a remote's branch with the name of the remote in front"),
  current: z.boolean(),
  remote: z.boolean(),
  worktree: z.string().optional().describe("the worktree that has it checked out"),
});
export type BranchRecord = z.infer<typeof BranchRecord>;

export const DiscoverQuery = z.object({
  path: GitPath.default("~/Documents"),
  maxDepth: z.coerce.number().int().min(0).max(8).default(3).describe("folders below the path"),
});

export const DiscoveredRepository = z.object({
  id: z.string(),
  path: z.string(),
  folderName: z.string(),
  lastModified: z.iso.datetime(),
  relativePath: z.string().describe("with ~ for the user's home"),
  gitBranch: z.string().optional(),
});
export type DiscoveredRepository = z.infer<typeof DiscoveredRepository>;
