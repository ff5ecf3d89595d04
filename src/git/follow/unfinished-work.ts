import { access } from "node:fs/promises";
import { join } from "node:path";
import { succeeded } from "../../lib/async/succeeded.ts";
import type { Git } from "../git.ts";

/** Files in the tree's git directory, and the operation in progress. The first one found counts. */
const MARKS: readonly (readonly [string, string])[] = [
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase, or a series of patches,"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  ["MERGE_HEAD", "a merge"],
  ["sequencer", "a series of cherry-picks or reverts"],
  ["BISECT_LOG", "a bisection"],
];

export const UNFINISHED_MARKS: readonly string[] = MARKS.map(([name]) => name);

/** Operations that detach HEAD temporarily. */
const DETACHING = new Set(["rebase-merge", "rebase-apply", "BISECT_LOG"]);

/** The operation in progress in this tree, which a checkout would break. */
export async function unfinishedWork(git: Git): Promise<string | undefined> {
  return (await marksIn(git))[0]?.[1];
}

/** Whether a rebase or a bisection is in progress in this tree. */
export async function isInTheMiddle(git: Git): Promise<boolean> {
  return (await marksIn(git)).some(([name]) => DETACHING.has(name));
}

async function marksIn(git: Git): Promise<typeof MARKS> {
  const gitDir = await git.readLine("rev-parse", "--absolute-git-dir");
  const found = await Promise.all(MARKS.map(([name]) => succeeded(access(join(gitDir, name)))));
  return MARKS.filter((_, index) => found[index]);
}
