// Both trees as they are, for `decide`.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import { requireRepository } from "../repository.ts";
import { commitOf } from "../worktrees/branches.ts";
import { readWorktrees, type WorktreeEntry } from "../worktrees/list.ts";
import type { FollowEvent, FollowState, Tree } from "./decide.ts";
import type { FollowSettings } from "./settings.ts";
import { unfinishedWork } from "./unfinished-work.ts";

/** The commit at which follow mode detached HEAD; each tree has its own ref. */
export const DETACHED_REF = "refs/worktree/ttyhq/parked";
/**
 * Reflog message of a switch to a branch without changing files: the files are of the entry before, as the branch may
 * have moved on.
 */
export const CHECKED_OUT = "ttyhq: joined";

export type FoundState = {
  readonly state: FollowState;
  /** The current path of the followed worktree, which may have been moved. */
  readonly worktreePath: string;
  /** Whether git lists the worktree, even if its folder is missing. */
  readonly isListed: boolean;
};

/** `git`: in the main tree. Throws as `Git.read` does; "disable" needs the main tree only. */
export async function readFollowState(
  git: Git,
  settings: FollowSettings,
  event: FollowEvent,
): Promise<FoundState> {
  const [main, ...linked] = await readWorktrees(git, await requireRepository(git));
  if (main === undefined)
    throw new ServiceError("not_a_repository", `git lists no working tree at ${git.cwd}`);
  const entry = followedEntry(linked, settings);
  // git refuses to read the worktree of another owner, for example.
  const ifUnreadable = (error: unknown): "away" => {
    if (event === "disable") return "away";
    throw error;
  };
  const [mainTree, worktree] = await Promise.all([
    readTree(git, main),
    readWorktree(git, entry).catch(ifUnreadable),
  ]);
  return {
    state: { main: mainTree, worktree, branch: settings.branch },
    worktreePath: entry?.path ?? settings.worktreePath,
    isListed: entry !== undefined,
  };
}

/** By its path, else by the branch: no other linked worktree can have it checked out. */
function followedEntry(
  linked: readonly WorktreeEntry[],
  { worktreePath, branch }: FollowSettings,
): WorktreeEntry | undefined {
  const there = linked.find(({ path }) => path === worktreePath);
  return there ?? (branch === undefined ? undefined : linked.find((entry) => entry.branch === branch));
}

async function readWorktree(git: Git, entry: WorktreeEntry | undefined): Promise<FollowState["worktree"]> {
  if (entry === undefined) return "gone";
  // Linked worktrees have a file `.git`; a folder belongs to another repository.
  if (!(await isFile(join(entry.path, ".git")))) return entry.locked === undefined ? "gone" : "away";
  return await readTree(git.at(entry.path), entry);
}

/** Throws where the file system does not answer. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

async function readTree(git: Git, { path, branch, head }: WorktreeEntry): Promise<Tree> {
  const { at, blind } = head === undefined ? { at: await lastLogged(git) } : await filesOf(git, head);
  const isDetached = branch === undefined && head !== undefined;
  const isBusy = isDetached && (await unfinishedWork(git)).some((work) => work.isDetaching);
  const detached = isDetached ? await detachedAt(git, head) : undefined;
  const isKept = isDetached && detached !== "there" && (await isOnABranch(git, head));
  return { path, branch, head, at, blind, isBusy, detached, isKept };
}

/** Each tree has a reflog of its own HEAD, which records every step of that tree. */
async function filesOf(git: Git, head: string): Promise<Pick<Tree, "at" | "blind">> {
  const log = await git.try("log", "--walk-reflogs", "-4", "--format=%H%x09%P%x09%gs", "HEAD", "--");
  const [last = "", before = ""] = log.stdout
    .split("\n")
    .filter((line) => !line.endsWith(`\t${CHECKED_OUT}`));
  const [at = "", parents = "", action = ""] = last.split("\t");
  if (log.code === 0 && at !== "")
    return { at, blind: blindCommit(at, parents, action, before.split("\t")[0]) };
  const staged = await git.try("diff-index", "--cached", "--quiet", head, "--");
  return { at: staged.code === 0 ? head : undefined };
}

/** A commit in a tree that was behind its branch: it reverts the commits in between. */
function blindCommit(
  commit: string,
  parents: string,
  action: string,
  of: string | undefined,
): Tree["blind"] | undefined {
  const onto = parents.split(" ")[0];
  const isCommit = /^commit(?: \((?:merge|cherry-pick)\))?:/.test(action);
  if (!isCommit || onto === undefined || onto === "" || of === undefined || of === "" || of === onto)
    return undefined;
  return { commit, of, onto };
}

/** The same for a deleted branch, whose reflog git does not read. */
async function lastLogged(git: Git): Promise<string | undefined> {
  const path = await git.readLine("rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD");
  const text = (await isFile(path)) ? await readFile(path, "utf8") : "";
  const last = text
    .trimEnd()
    .split("\n")
    .findLast((line) => !line.endsWith(`\t${CHECKED_OUT}`));
  return /^[0-9a-f]+ ([0-9a-f]+) /.exec(last ?? "")?.[1];
}

async function detachedAt(git: Git, head: string): Promise<Tree["detached"]> {
  const commit = await commitOf(git, DETACHED_REF);
  if (commit === undefined) return undefined;
  if (commit === head) return "there";
  const ancestry = await git.try("merge-base", "--is-ancestor", commit, head);
  return ancestry.code === 0 ? "ahead" : "elsewhere";
}

async function isOnABranch(git: Git, commit: string): Promise<boolean> {
  const places = ["refs/heads", "refs/remotes", "refs/tags"];
  const run = await git.try("for-each-ref", "--count=1", `--contains=${commit}`, ...places);
  return run.code === 0 && run.stdout !== "";
}
