import { readFollowedPath } from "../follow/settings.ts";
import type { Git } from "../git.ts";
import { readRefs } from "../refs.ts";
import { type Repository, requireRepository } from "../repository.ts";
import { readDirt } from "./dirty.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";
import { statsAgainst, type WorktreeStats } from "./stats.ts";

export type Worktree = WorktreeEntry & {
  /** Whether it is the one that was asked from. */
  readonly isCurrent: boolean;
  readonly isFollowed: boolean;
  /** `undefined` where git cannot say, or not in time. */
  readonly stats: WorktreeStats | undefined;
  readonly isDirty: boolean | undefined;
};

/** What other branches are compared with. */
export type BaseBranch = {
  /** The short name, as it is on the remote. */
  readonly name: string;
  /** Its commit; `undefined` where there is none yet. */
  readonly commit: string | undefined;
};

export type WorktreeListing = {
  readonly repository: Repository;
  readonly base: BaseBranch;
  /** The branch of the followed working tree. */
  readonly followBranch: string | undefined;
  /** The main working tree first. */
  readonly worktrees: readonly Worktree[];
};

const ORIGIN = "refs/remotes/origin/";
const HEADS = "refs/heads/";
/** More are listed without numbers: each costs git a look at all its files. */
const MAX_EXAMINED = 500;

/** The working trees of the repository that `git` is in, and how they stand. Throws `not_a_repository`. */
export async function examineWorktrees(git: Git): Promise<WorktreeListing> {
  const repository = await requireRepository(git);
  const entries = readWorktrees(git, repository);
  const base = readBaseBranch(git, async () => (await entries)[0]?.branch);
  const [all, followed, stats, dirt] = await Promise.all([
    entries,
    readFollowedPath(git),
    Promise.all([base, entries]).then(([{ commit }, found]) => statsOf(git, commit, examined(found))),
    // By far the longest: it does not wait for the base.
    entries.then((found) => dirtOf(git, repository, examined(found))),
  ]);
  const worktrees = all.map((entry) => ({
    ...entry,
    isCurrent: entry.path === repository.root,
    isFollowed: !entry.isMain && entry.path === followed,
    stats: entry.head === undefined ? undefined : stats.get(entry.head),
    isDirty: dirt.get(entry.path),
  }));
  const followBranch = worktrees.find(({ isFollowed }) => isFollowed)?.branch;
  return { repository, base: await base, followBranch, worktrees };
}

function examined(entries: readonly WorktreeEntry[]): readonly WorktreeEntry[] {
  return entries.filter(({ prunable }) => prunable === undefined).slice(0, MAX_EXAMINED);
}

async function dirtOf(
  git: Git,
  { commonDir }: Repository,
  entries: readonly WorktreeEntry[],
): Promise<ReadonlyMap<string, boolean>> {
  const trees = entries.filter(({ isBare }) => !isBare).map(({ path }) => path);
  return await readDirt(git, commonDir, trees);
}

async function statsOf(
  git: Git,
  commit: string | undefined,
  entries: readonly WorktreeEntry[],
): Promise<ReadonlyMap<string, WorktreeStats>> {
  if (commit === undefined) return new Map();
  const heads = entries.flatMap(({ head }) => (head === undefined ? [] : [head]));
  return await statsAgainst(git, commit, heads);
}

/**
 * What origin/HEAD points to; else main, else master, where there is such a branch; else `current`, the branch of the
 * main working tree. Of a branch that is here and on the remote, the one that is here.
 */
async function readBaseBranch(git: Git, current: () => Promise<string | undefined>): Promise<BaseBranch> {
  const known = await readRefs(git, [`${ORIGIN}HEAD`, `${HEADS}main`, `${HEADS}master`]);
  const remote = known.get(`${ORIGIN}HEAD`)?.symref;
  if (remote?.startsWith(ORIGIN)) {
    const name = remote.slice(ORIGIN.length);
    const refs = await readRefs(git, [`${HEADS}${name}`, remote]);
    return { name, commit: (refs.get(`${HEADS}${name}`) ?? refs.get(remote))?.commit };
  }
  for (const name of ["main", "master"]) {
    const ref = known.get(`${HEADS}${name}`);
    if (ref !== undefined) return { name, commit: ref.commit };
  }
  const name = (await current()) ?? "main";
  return { name, commit: (await readRefs(git, [`${HEADS}${name}`])).get(`${HEADS}${name}`)?.commit };
}
