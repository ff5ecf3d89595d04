// The page's text about worktrees: pure functions from a record to words.
import type { WorktreeLosses, WorktreeRecord } from "../../protocol/schemas/git.ts";

const HEADS = "refs/heads/";

/** Empty if HEAD is detached. */
export function branchName({ branch, detached }: Pick<WorktreeRecord, "branch" | "detached">): string {
  if (detached) return "";
  return branch.startsWith(HEADS) ? branch.slice(HEADS.length) : branch;
}

/** "1 commit ahead of main, 3 files changed (+10 −2)"; empty without a difference. */
export function statsWords(worktree: WorktreeRecord, baseBranch: string): string {
  const { commitsAhead = 0, commitsBehind = 0, filesChanged = 0, insertions = 0, deletions = 0 } = worktree;
  return [
    ...(commitsAhead > 0 ? [`${counted(commitsAhead, "commit")} ahead of ${baseBranch}`] : []),
    ...(commitsBehind > 0 ? [`${counted(commitsBehind, "commit")} behind ${baseBranch}`] : []),
    ...(filesChanged > 0 ? [`${counted(filesChanged, "file")} changed (+${insertions} −${deletions})`] : []),
  ].join(", ");
}

/** Sentences about what is lost with a worktree, the worst first; empty if nothing is. */
export function lossWords({ changed, untracked, ignored }: WorktreeLosses): readonly string[] {
  return [
    ...(changed > 0 ? [`Uncommitted changes in ${counted(changed, "file")} are lost.`] : []),
    ...(untracked > 0
      ? [`${counted(untracked, "untracked file or folder", "untracked files or folders")} are deleted.`]
      : []),
    ...(ignored > 0
      ? [`${counted(ignored, "ignored file or folder", "ignored files or folders")} are deleted.`]
      : []),
  ].map((words) => words.replace(/^(1 .*) are /, "$1 is "));
}

/** What stays: the branch with its commits. */
export function keptWords(branch: string, { unpushed }: Pick<WorktreeLosses, "unpushed">): string {
  const commits =
    unpushed === undefined || unpushed === 0
      ? "its commits"
      : `its commits, ${unpushed} of which ${unpushed === 1 ? "is" : "are"} on no remote`;
  return `The branch ${branch} stays, with ${commits}. Stashes stay, too.`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
