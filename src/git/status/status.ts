import { ServiceError } from "../../protocol/errors.ts";
import { MAX_LISTED_LOSSES } from "../../protocol/limits.ts";
import type { WorktreeLosses } from "../../protocol/schemas/git.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { currentBranch } from "../worktrees/branches.ts";

export type Status = {
  /** Short name; `undefined`: HEAD is detached. */
  readonly branch: string | undefined;
  /** Short name of the upstream, which may be gone. */
  readonly upstream: string | undefined;
  /** Compared with the upstream; `undefined` without one. */
  readonly ahead: number | undefined;
  readonly behind: number | undefined;
  readonly counts: Counts;
  readonly hasChanges: boolean;
};

/** Numbers of files; one file may count several times. */
type Counts = Record<`${"modified" | "untracked" | "staged" | "added" | "deleted"}Count`, number>;

/** Options that override the repository's config. */
const PLAIN = ["-z", "--untracked-files=normal", "--ignore-submodules=dirty"] as const;

/** The status of the current working tree, without submodules. */
export async function statusOf(git: Git): Promise<Status> {
  return parseStatus(await git.read("status", "--porcelain=v2", "--branch", "--ahead-behind", ...PLAIN));
}

/** Whether there are edits, staged or not, or untracked files. */
export async function isDirty(git: Git): Promise<boolean> {
  return (await git.read("status", "--porcelain", "--no-renames", ...PLAIN)) !== "";
}

/** The same; `undefined` for a broken tree, and for one of an owner that git does not trust. */
export async function isDirtyIfReadable(git: Git): Promise<boolean | undefined> {
  try {
    return await isDirty(git);
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Parses `git status --porcelain=v2 --branch -z`; ignores unknown lines. */
export function parseStatus(text: string): Status {
  const headers = new Map<string, string>();
  const counts = { modifiedCount: 0, untrackedCount: 0, stagedCount: 0, addedCount: 0, deletedCount: 0 };
  const fields = text.split("\0");
  for (let at = 0; at < fields.length; at++) {
    const line = fields[at] ?? "";
    const [, header, value] = /^# ([\w.]+) (.*)$/s.exec(line) ?? [];
    if (header !== undefined && value !== undefined) headers.set(header, value);
    else count(counts, line);
    // A rename has the former path in a field of its own.
    if (line.startsWith("2 ")) at++;
  }
  const [, ahead, behind] = /^\+(\d+) -(\d+)$/.exec(headers.get("branch.ab") ?? "") ?? [];
  const branch = headers.get("branch.head");
  return {
    counts,
    branch: branch === "(detached)" ? undefined : branch,
    upstream: headers.get("branch.upstream"),
    ahead: ahead === undefined ? undefined : Number(ahead),
    behind: behind === undefined ? undefined : Number(behind),
    hasChanges: Object.values(counts).some((number) => number > 0),
  };
}

function count(counts: Counts, line: string): void {
  if (line.startsWith("? ")) counts.untrackedCount++;
  // Unmerged.
  if (line.startsWith("u ")) counts.modifiedCount++;
  const [, index, tree] = /^[12] (.)(.) /.exec(line) ?? [];
  if (index === undefined || tree === undefined) return;
  if (index !== ".") counts.stagedCount++;
  if (index === "A" || tree === "A") counts.addedCount++;
  if (index === "D" || tree === "D") counts.deletedCount++;
  if (tree === "M" || tree === "T") counts.modifiedCount++;
}

/** The git status for session records, and the upstream that it depends on. */
export type TreeRead = { readonly status: GitStatus; readonly upstream: string | undefined };

/** `git`: at the repository's root. Throws as `Git.read` does. */
export async function readTreeStatus(git: Git, repository: Repository): Promise<TreeRead> {
  if (!repository.isBare) return treeStatus(repository, await statusOf(git));
  const place = placeOf(repository, await currentBranch(git));
  return { status: { ...place, gitHasChanges: false }, upstream: undefined };
}

export function treeStatus(repository: Repository, status: Status): TreeRead {
  const { branch, upstream, ahead, behind } = status;
  const { modifiedCount, stagedCount, deletedCount, untrackedCount } = status.counts;
  return {
    status: {
      ...placeOf(repository, branch),
      ...{ gitAheadCount: ahead, gitBehindCount: behind },
      ...{ gitModifiedCount: modifiedCount, gitStagedCount: stagedCount, gitDeletedCount: deletedCount },
      gitAddedCount: untrackedCount,
      // Untracked files do not count as changes.
      gitHasChanges: modifiedCount + stagedCount + deletedCount > 0,
    },
    upstream,
  };
}

function placeOf({ root, mainRoot, isWorktree }: Repository, branch: string | undefined): GitStatus {
  const place = { gitRepoPath: root, gitIsWorktree: isWorktree, gitMainRepoPath: mainRoot };
  return { ...place, gitBranch: branch ?? "" };
}

/**
 * What is lost when a worktree is removed: its branch and the stashes of the repository stay. `git`: at its root.
 */
export async function readLosses(git: Git): Promise<WorktreeLosses> {
  const untracked = ["--untracked-files=normal", "--ignored=traditional"];
  const [status, unpushed] = await Promise.all([
    git.read("status", "--porcelain", "--no-renames", "-z", ...untracked),
    countUnpushed(git),
  ]);
  return { ...parseLosses(status), unpushed };
}

/** Parses `git status --porcelain --no-renames -z --ignored`. */
function parseLosses(status: string): Omit<WorktreeLosses, "unpushed"> {
  const files = status
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => ({ path: line.slice(3), kind: kindOf(line) }));
  const count = (kind: string): number => files.filter((file) => file.kind === kind).length;
  return {
    ...{ changed: count("changed"), untracked: count("untracked"), ignored: count("ignored") },
    files: files.slice(0, MAX_LISTED_LOSSES),
  };
}

function kindOf(line: string): WorktreeLosses["files"][number]["kind"] {
  if (line.startsWith("??")) return "untracked";
  return line.startsWith("!!") ? "ignored" : "changed";
}

/** `undefined` without remote-tracking branches, and before the first commit. */
async function countUnpushed(git: Git): Promise<number | undefined> {
  const remotes = await git.read("for-each-ref", "--count=1", "--format=%(refname)", "--", "refs/remotes/");
  if (remotes === "") return undefined;
  const { stdout, code } = await git.try("rev-list", "--count", "HEAD", "--not", "--remotes", "--");
  return code === 0 ? Number(stdout) : undefined;
}
