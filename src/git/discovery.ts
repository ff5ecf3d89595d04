import { lstat } from "node:fs/promises";
import { basename, relative } from "node:path";
import type { DiscoveredRepository } from "../protocol/schemas/git.ts";
import type { Git } from "./git.ts";
import { linesOf } from "./worktrees/side-by-side.ts";

const MAX_FOUND = 500;
/** Skips hidden folders. */
const FIND = `find "$1" -mindepth 1 -maxdepth "$2" -name '.?*' \\( -name .git -print0 -o -true \\) -prune 2>/dev/null`;
const BRANCHES = 'for at do git -C "$at" symbolic-ref -q --short HEAD 2>/dev/null || echo; done';

/**
 * Repositories with a working tree in `root` or up to `maxDepth` folders below, without nested ones; sorted by name.
 */
export async function discoverRepositories(
  git: Git,
  { root, maxDepth, home }: { readonly root: string; readonly maxDepth: number; readonly home: string },
): Promise<DiscoveredRepository[]> {
  const { stdout } = await git.script(FIND, [root, `${maxDepth + 1}`]);
  const paths = outermost(
    stdout.split("\0").flatMap((path) => (path.endsWith("/.git") ? [path.slice(0, -".git".length)] : [])),
  );
  const branches = await linesOf(git, BRANCHES, { each: paths });
  const found = await Promise.all(
    paths.map(async (path) => {
      const stats = await lstat(path).catch(() => undefined);
      if (stats === undefined) return [];
      const folderName = basename(path);
      return {
        ...{ id: `${folderName}-${stats.ino}`, path, folderName, relativePath: homeRelative(path, home) },
        lastModified: stats.mtime.toISOString(),
        // Empty: HEAD is detached, or git does not trust the repository.
        gitBranch: branches.get(path) || undefined,
      };
    }),
  );
  return found.flat().sort((one, other) => one.folderName.localeCompare(other.folderName));
}

/** `folders` end with a slash, so that each comes right before those in it. */
function outermost(folders: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const folder of folders.toSorted()) {
    const last = kept.at(-1);
    if (last === undefined || !folder.startsWith(last)) kept.push(folder);
  }
  return kept.slice(0, MAX_FOUND).map((folder) => folder.slice(0, -1));
}

/** The path with `~` in place of the home directory. */
export function homeRelative(path: string, home: string): string {
  if (path === home) return "~";
  const below = relative(home, path);
  return below === "" || below.startsWith("..") ? path : `~/${below}`;
}
