import { dirname, join } from "node:path";
import type { WatchedFolder } from "../folder-watch.ts";
import { UNFINISHED_MARKS } from "./unfinished-work.ts";

/** Where the files of a followed repository are that change with it. */
export type FollowPlaces = {
  readonly commonDir: string;
  /** Of the main tree, and of the worktree unless it is away. */
  readonly gitDirs: readonly string[];
  /** The branch that both are on. */
  readonly branch: string | undefined;
};

const OF_A_TREE = new Set(["HEAD", "packed-refs", "worktrees", ...UNFINISHED_MARKS]);

/**
 * At most eight folders where changes show that no hook reports: a reset, an amended commit's end, a rebase, a worktree
 * that has gone. `caresForIndex`: whether staging may make a difference now.
 */
export function followFolders(
  { commonDir, gitDirs, branch }: FollowPlaces,
  caresForIndex: () => boolean,
): readonly WatchedFolder[] {
  const matters = (name: string): boolean => OF_A_TREE.has(name) || (name === "index" && caresForIndex());
  const branchFolder = branch && dirname(join(commonDir, "refs", "heads", branch));
  return [
    ...[...new Set([commonDir, ...gitDirs])].flatMap((path) => [
      { path, matters },
      { path: join(path, "logs"), matters: (name: string) => name === "HEAD" },
    ]),
    { path: join(commonDir, "worktrees"), matters: () => true },
    ...(branchFolder ? [{ path: branchFolder, matters: (name: string) => !name.endsWith(".lock") }] : []),
  ];
}
