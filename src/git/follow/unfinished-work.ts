import { access } from "node:fs/promises";
import { join } from "node:path";
import { succeeded } from "../../lib/async/succeeded.ts";
import type { Git } from "../git.ts";

/** `mark`: its file in the tree's git directory. `isDetaching`: it detaches HEAD temporarily. */
type Work = { readonly mark: string; readonly name: string; readonly isDetaching?: true };

const WORKS: readonly Work[] = [
  { mark: "rebase-merge", name: "a rebase", isDetaching: true },
  { mark: "rebase-apply", name: "a rebase, or a series of patches,", isDetaching: true },
  { mark: "CHERRY_PICK_HEAD", name: "a cherry-pick" },
  { mark: "REVERT_HEAD", name: "a revert" },
  { mark: "MERGE_HEAD", name: "a merge" },
  { mark: "sequencer", name: "a series of cherry-picks or reverts" },
  { mark: "BISECT_LOG", name: "a bisection", isDetaching: true },
];

export const UNFINISHED_MARKS: readonly string[] = WORKS.map(({ mark }) => mark);

/** Operations in progress in this tree, which a checkout would break; the first one names them. */
export async function unfinishedWork(git: Git): Promise<readonly Work[]> {
  const gitDir = await git.readLine("rev-parse", "--absolute-git-dir");
  const found = await Promise.all(WORKS.map(({ mark }) => succeeded(access(join(gitDir, mark)))));
  return WORKS.filter((_, index) => found[index]);
}
