import { z } from "zod";

/** A folder on the server's machine: absolute, or below the user's home as `~/…`. */
export const GitPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => /^(?:\/|~(?:\/|$))/.test(path), "must be absolute, or begin with ~/")
  .refine((path) => !path.includes("\0"), "must not contain a NUL character")
  .describe("an absolute path, or one below the user's home with ~/");

/** By git's own rules, which are not those of a schema. */
export const BranchName = z.string().min(1).max(1024);

const path = GitPath.optional();
const SOME_PATH = "is missing";

type Paths = {
  readonly repoPath?: string | undefined;
  readonly gitRepoPath?: string | undefined;
  readonly path?: string | undefined;
};

function hasPath({ repoPath, gitRepoPath, path: plain }: Paths): boolean {
  return (repoPath ?? gitRepoPath ?? plain) !== undefined;
}

/** Old clients differ in what they call it (facts 6.7, 6.8). */
export const RepositoryQuery = z
  .object({ repoPath: path, gitRepoPath: path, path })
  .refine(hasPath, { error: SOME_PATH, path: ["repoPath"] });

export const RemoveWorktreeQuery = z
  .object({
    ...{ repoPath: path, gitRepoPath: path },
    force: z.enum(["true", "false", "1", "0"]).default("false").describe("even with uncommitted changes"),
  })
  .refine(hasPath, { error: SOME_PATH, path: ["repoPath"] });

export const RepositoryBody = z
  .object({ repoPath: path, gitRepoPath: path })
  .refine(hasPath, { error: SOME_PATH, path: ["repoPath"] });

export const CreateWorktree = z
  .object({
    ...{ repoPath: path, gitRepoPath: path, branch: BranchName },
    baseBranch: BranchName.optional().describe("what a new branch begins at"),
    path: path.describe("default: the repository's path, a hyphen and the branch"),
  })
  .refine(({ path: _, ...paths }) => hasPath(paths), { error: SOME_PATH, path: ["repoPath"] });

export const SwitchBranch = z
  .object({ repoPath: path, gitRepoPath: path, branch: BranchName })
  .refine(hasPath, { error: SOME_PATH, path: ["repoPath"] });

const Count = z.int().min(0);
const stats = {
  commitsAhead: Count.optional().describe("commits that the base branch lacks"),
  commitsBehind: Count.optional().describe("commits of the base branch that are lacking here"),
  filesChanged: Count.optional().describe("since it and the base branch parted, as are the next two"),
  insertions: Count.optional(),
  deletions: Count.optional(),
};

export const WorktreeRecord = z.object({
  path: z.string(),
  branch: z.string().describe("refs/heads/NAME; HEAD where it is on no branch"),
  HEAD: z.string().describe("the commit; empty where there is none"),
  ...{ detached: z.boolean(), bare: z.boolean(), locked: z.boolean(), prunable: z.boolean() },
  lockedReason: z.string().optional(),
  isMain: z.boolean(),
  isCurrent: z.boolean().describe("the one that repoPath is in"),
  isFollowed: z.boolean(),
  isMainWorktree: z.boolean().describe("isMain, for old clients"),
  isCurrentWorktree: z.boolean().describe("isCurrent, for old clients"),
  ...stats,
  hasUncommittedChanges: z.boolean().optional().describe("left out where git could not say in time"),
  stats: z.object(stats).optional().describe("the same numbers, for old clients"),
});
export type WorktreeRecord = z.infer<typeof WorktreeRecord>;

export const WorktreeList = z.object({
  baseBranch: z.string(),
  repoPath: z.string().describe("the top of the working tree that was asked about"),
  followBranch: z.string().optional(),
  worktrees: z.array(WorktreeRecord),
});
export type WorktreeList = z.infer<typeof WorktreeList>;

/** A place that is in no repository has nothing but `isGitRepo`. */
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

export const RepositoryStatus = z.object({ ...place, currentBranch: z.string().optional(), ...counts });
export type RepositoryStatus = z.infer<typeof RepositoryStatus>;

const Address = z.string().nullable().describe("without a password; null where there is no origin");

export const RepositoryRemote = z.object({
  ...place,
  remoteUrl: Address.optional(),
  githubUrl: z.string().nullable().optional().describe("null for an origin elsewhere"),
});

export const RepositorySummary = z.object({
  ...place,
  currentBranch: z.string().nullable().optional(),
  remoteUrl: Address.optional(),
  isWorktree: z.boolean().optional(),
  ...counts,
});

export const BranchRecord = z.object({
  name: z.string().describe("of a remote's branch with the name of the remote before it"),
  current: z.boolean(),
  remote: z.boolean(),
  worktree: z.string().optional().describe("where it is checked out"),
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
