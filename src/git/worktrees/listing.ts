import type { WorktreeList, WorktreeRecord } from "../../protocol/schemas/git.ts";
import { followSettings } from "../follow/settings.ts";
import type { Git } from "../git.ts";
import type { ScopedEntry } from "../local-config.ts";
import { type Repository, requireRepository } from "../repository.ts";
import { isDirtyIfReadable } from "../status/status.ts";
import { branchRef, commitOf, readRefs } from "./branches.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";
import { linesOf } from "./side-by-side.ts";

const ORIGIN = "refs/remotes/origin/";
/** Further trees are listed without numbers: git has to read all files of a tree. */
const MAX_EXAMINED = 500;

/** The working trees of the current repository, the main one first. Throws `not_a_repository`. */
export async function listWorktrees(git: Git): Promise<WorktreeList> {
  const repository = await requireRepository(git);
  const followed = followSettings(await git.config())?.worktreePath;
  const entries = readWorktrees(git, repository);
  const base = readBaseBranch(git, async () => (await entries)[0]?.branch);
  const readStats = async (): ReturnType<typeof statsAgainst> => {
    const heads = examined(await entries).flatMap(({ head }) => head ?? []);
    return await statsAgainst(git, (await base).commit, heads);
  };
  const [all, stats, dirt] = await Promise.all([
    entries,
    readStats(),
    // By far the longest: it does not wait for the base.
    entries.then((found) => dirtOf(git, repository, examined(found))),
  ]);
  return {
    baseBranch: (await base).name,
    repoPath: repository.root,
    followBranch: all.find(({ isMain, path }) => !isMain && path === followed)?.branch,
    worktrees: all.map((entry) => {
      const { path, head = "" } = entry;
      const [isCurrent, isFollowed] = [path === repository.root, path === followed && !entry.isMain];
      const numbers = stats.get(head);
      const place = { ...placeOf(entry), isCurrent, isCurrentWorktree: isCurrent, isFollowed };
      return { ...place, ...numbers, stats: numbers, hasUncommittedChanges: dirt.get(path) };
    }),
  };
}

function placeOf({ path, branch, head = "", locked, prunable, isBare, isMain }: WorktreeEntry) {
  return {
    ...{ path, branch: branch === undefined ? "HEAD" : branchRef(branch), HEAD: head },
    ...{ detached: branch === undefined && !isBare, bare: isBare },
    ...{ locked: locked !== undefined, lockedReason: locked || undefined, prunable: prunable !== undefined },
    ...{ isMain, isMainWorktree: isMain },
  };
}

function examined(entries: readonly WorktreeEntry[]): readonly WorktreeEntry[] {
  return entries.filter(({ prunable }) => prunable === undefined).slice(0, MAX_EXAMINED);
}

/**
 * The branch that others are compared with, and its commit unless there is none yet: the branch of origin/HEAD, else
 * main or master if it exists, else the branch of the main tree. A local branch goes before that of the remote.
 */
async function readBaseBranch(
  git: Git,
  current: () => Promise<string | undefined>,
): Promise<{ readonly name: string; readonly commit: string | undefined }> {
  const known = await readRefs(git, [`${ORIGIN}HEAD`, branchRef("main"), branchRef("master")]);
  const remote = known.get(`${ORIGIN}HEAD`)?.symref;
  if (remote?.startsWith(ORIGIN)) {
    const name = remote.slice(ORIGIN.length);
    const refs = await readRefs(git, [branchRef(name), remote]);
    return { name, commit: (refs.get(branchRef(name)) ?? refs.get(remote))?.commit };
  }
  for (const name of ["main", "master"]) {
    const ref = known.get(branchRef(name));
    if (ref !== undefined) return { name, commit: ref.commit };
  }
  const name = (await current()) ?? "main";
  return { name, commit: await commitOf(git, branchRef(name)) };
}

/** A commit compared with the base: commits that only one of them has, and changes since their merge base. */
type WorktreeStats = Readonly<Required<NonNullable<WorktreeRecord["stats"]>>>;

/** git detects renames among at most 200 files. A head without a merge base gets an empty line. */
const STATS_SCRIPT = `
tree=$1 base=$2; shift 2
for head do
  counts=$(git -C "$tree" rev-list --left-right --count "$base...$head" -- 2>/dev/null) &&
    changes=$(git -C "$tree" diff --no-ext-diff --no-textconv --ignore-submodules=dirty -M -l200 --shortstat \\
      "$base...$head" -- 2>/dev/null) && echo "$counts$changes" || echo
done`;

/** Stats by commit; `base` and `heads` are object ids. Unrelated and unreadable commits are left out. None without `base`. */
async function statsAgainst(
  git: Git,
  base: string | undefined,
  heads: readonly string[],
): Promise<ReadonlyMap<string, WorktreeStats>> {
  if (base === undefined) return new Map();
  const lines = await linesOf(git, STATS_SCRIPT, { fixed: [git.cwd, base], each: [...new Set(heads)] });
  return new Map(
    [...lines].flatMap(([head, line]) => {
      const stats = parseStats(line);
      return stats === undefined ? [] : [[head, stats] as const];
    }),
  );
}

/** Reads the output of `rev-list --left-right --count` and, on the same line, of `diff --shortstat`. */
export function parseStats(line: string): WorktreeStats | undefined {
  const [, behind, ahead] = /^(\d+)\t(\d+)/.exec(line) ?? [];
  if (behind === undefined || ahead === undefined) return undefined;
  const number = (pattern: RegExp): number => Number(pattern.exec(line)?.[1] ?? 0);
  return {
    ...{ commitsAhead: Number(ahead), commitsBehind: Number(behind) },
    filesChanged: number(/ (\d+) files? changed/),
    ...{ insertions: number(/ (\d+) insertions?\(\+\)/), deletions: number(/ (\d+) deletions?\(-\)/) },
  };
}

/**
 * Prints `clean` or `dirty` for each working tree, or `ask` if git fails or the tree does not belong to the repository
 * with the common directory $1, whose config is known.
 */
const DIRT_SCRIPT = `
common=$1; shift
is_ours() {
  [ "$tree/.git" = "$common" ] && return
  [ -f "$tree/.git" ] && IFS= read -r link <"$tree/.git" || return 1
  name=\${link#"gitdir: $common/worktrees/"}
  case $name in "$link"|*/*|.|..|'') return 1 ;; esac
  [ -f "$common/worktrees/$name/commondir" ] && IFS= read -r up <"$common/worktrees/$name/commondir" &&
    [ "$up" = ../.. ]
}
for tree do
  if is_ours && found=$(git -C "$tree" -c core.preloadIndex=false status --porcelain --no-renames \\
    --untracked-files=normal --ignore-submodules=dirty 2>/dev/null)
  then if [ -n "$found" ]; then echo dirty; else echo clean; fi
  else echo ask; fi
done`;

/** Which working trees have uncommitted changes. Trees are left out if git does not answer in time. */
async function dirtOf(
  git: Git,
  { commonDir }: Repository,
  entries: readonly WorktreeEntry[],
): Promise<ReadonlyMap<string, boolean>> {
  const trees = entries.filter(({ isBare }) => !isBare).map(({ path }) => path);
  const lines = mayDiffer(await git.config())
    ? trees.map((tree) => [tree, "ask"] as const)
    : await linesOf(git, DIRT_SCRIPT, { fixed: [commonDir], each: trees });
  const answers = await Promise.all(
    [...lines].map(async ([tree, line]) => {
      const dirty = line === "ask" ? await isDirtyIfReadable(git.at(tree)) : line === "dirty";
      return dirty === undefined ? [] : [[tree, dirty] as const];
    }),
  );
  return new Map(answers.flat());
}

/** Each tree may have a config of its own, or one under a condition. */
function mayDiffer(entries: readonly ScopedEntry[]): boolean {
  return entries.some(
    ({ scope, key }) =>
      scope !== "global" &&
      scope !== "system" &&
      (key === "extensions.worktreeconfig" || key.startsWith("includeif.")),
  );
}
