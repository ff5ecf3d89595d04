import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";

/** A working tree as git lists it. */
export type WorktreeEntry = {
  readonly path: string;
  /** The commit; `undefined` in a bare repository and where there is no commit yet. */
  readonly head: string | undefined;
  /** The short name of its branch; `undefined`: none. */
  readonly branch: string | undefined;
  readonly isMain: boolean;
  readonly isBare: boolean;
  /** The reason of its lock, which may be empty; `undefined`: not locked. */
  readonly locked: string | undefined;
  /** Why a prune would remove its entry; `undefined`: it would not. */
  readonly prunable: string | undefined;
};

/** The working trees of a repository, the main tree first. */
export async function readWorktrees(git: Git, repository: Repository): Promise<readonly WorktreeEntry[]> {
  const entries = parseWorktrees(await git.read("worktree", "list", "--porcelain", "-z"));
  // git names the git directory if that is outside the working tree (submodules).
  return entries.map((entry) => (entry.isMain ? { ...entry, path: repository.mainRoot } : entry));
}

/** Reads `git worktree list --porcelain -z`: attributes that end with NUL, entries that end with an empty one. */
export function parseWorktrees(text: string): readonly WorktreeEntry[] {
  const entries: WorktreeEntry[] = [];
  for (const block of text.split("\0\0")) {
    const attributes = new Map(block.split("\0").map(attribute));
    const path = attributes.get("worktree");
    if (path === undefined) continue;
    const head = attributes.get("HEAD");
    entries.push({
      path,
      head: head === undefined || /^0+$/.test(head) ? undefined : head,
      branch: attributes.get("branch")?.replace(/^refs\/heads\//, ""),
      isMain: entries.length === 0,
      isBare: attributes.has("bare"),
      locked: attributes.get("locked"),
      prunable: attributes.get("prunable"),
    });
  }
  return entries;
}

function attribute(line: string): readonly [string, string] {
  const space = line.indexOf(" ");
  return space === -1 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
}
