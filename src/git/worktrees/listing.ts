import { ServiceError } from "../../protocol/errors.ts";
import type { WorktreeList } from "../../protocol/schemas/git.ts";
import { readFollowedPath } from "../follow/settings.ts";
import type { Git } from "../git.ts";
import type { ScopedEntry } from "../local-config.ts";
import { type Repository, requireRepository } from "../repository.ts";
import { isDirty } from "../status/status.ts";
import { readRefs } from "./branches.ts";
import { readWorktrees, type WorktreeEntry } from "./list.ts";
import { linesOf } from "./side-by-side.ts";
import { statsAgainst, type WorktreeStats } from "./stats.ts";

/** The branch that others are compared with: its short name, and its commit unless there is none yet. */
type BaseBranch = { readonly name: string; readonly commit: string | undefined };

const ORIGIN = "refs/remotes/origin/";
const HEADS = "refs/heads/";
/** More are listed without numbers: each costs git a look at all its files. */
const MAX_EXAMINED = 500;

/** The working trees of the current repository, the main one first. Throws `not_a_repository`. */
export async function listWorktrees(git: Git): Promise<WorktreeList> {
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
    ...{ path, branch: branch === undefined ? "HEAD" : `${HEADS}${branch}`, HEAD: head },
    ...{ detached: branch === undefined && !isBare, bare: isBare },
    ...{ locked: locked !== undefined, lockedReason: locked || undefined, prunable: prunable !== undefined },
    ...{ isMain, isMainWorktree: isMain },
  };
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
 * The branch of origin/HEAD, else main or master if it exists, else the branch of the main tree. A local branch goes
 * before that of the remote.
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

/**
 * Prints `clean` or `dirty` for each working tree, or `ask` if git fails or its config names a program that is not
 * neutralised. $1: the common directory if all trees share one config, which saves reading it for each tree.
 */
const SCRIPT = `
common=$1; shift
is_alike() {
  [ -n "$common" ] || return 1
  [ "$tree/.git" = "$common" ] && return
  [ -f "$tree/.git" ] && IFS= read -r link <"$tree/.git" || return 1
  name=\${link#"gitdir: $common/worktrees/"}
  case $name in "$link"|*/*|.|..|'') return 1 ;; esac
  [ -f "$common/worktrees/$name/commondir" ] && IFS= read -r up <"$common/worktrees/$name/commondir" &&
    [ "$up" = ../.. ]
}
is_neutral() {
  names=$(git -C "$tree" config --includes --show-scope --name-only --get-regexp '^(filter|hook)[.]' 2>/dev/null)
  case $? in 0|1) ;; *) return 1 ;; esac
  [ -z "$names" ] || printf '%s\\n' "$names" | awk '
    { tab = index($0, "\\t"); scope = substr($0, 1, tab - 1); key = substr($0, tab + 1) }
    scope == "command" { neutral[key] = 1; next }
    scope != "global" && scope != "system" { named[key] = 1 }
    END { for (key in named) if (!(key in neutral)) exit 1 }'
}
for tree do
  is_alike || is_neutral || { echo ask; continue; }
  if found=$(git -C "$tree" -c core.preloadIndex=false status --porcelain --no-renames \\
    --untracked-files=normal --ignore-submodules=dirty 2>/dev/null)
  then if [ -n "$found" ]; then echo dirty; else echo clean; fi
  else echo ask; fi
done`;

/** Which of these working trees hold what is in no commit. One that git says nothing about in time is left out. */
export async function readDirt(
  git: Git,
  commonDir: string,
  trees: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const common = mayDiffer(await git.config()) ? "" : commonDir;
  const lines = await linesOf(git, SCRIPT, { fixed: [common], each: trees });
  const answers = await Promise.all(
    [...lines].map(async ([tree, line]) => {
      const dirty = line === "ask" ? await askAlone(git.at(tree)) : line === "dirty";
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

async function askAlone(git: Git): Promise<boolean | undefined> {
  try {
    return await isDirty(git);
  } catch (error) {
    // Broken, or of somebody whom git does not trust.
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}
