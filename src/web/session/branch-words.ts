// The page's text about the branch of a session's folder.
import type { GitStatus } from "../../protocol/schemas/session.ts";
import { folderWords } from "./words.ts";

export type BranchWords = {
  readonly name: string;
  /** Whether there are uncommitted changes. */
  readonly isDirty: boolean;
  /** "↑2 ↓1": commits missing in the upstream, and commits missing here. */
  readonly distance: string;
  /** All of it as a sentence. */
  readonly title: string;
};

/** `undefined` outside a repository. */
export function branchWords(git: GitStatus): BranchWords | undefined {
  const { gitBranch, gitRepoPath, gitHasChanges: isDirty = false } = git;
  if (gitBranch === undefined || gitRepoPath === undefined) return undefined;
  const { gitAheadCount: ahead = 0, gitBehindCount: behind = 0 } = git;
  const place = gitBranch === "" ? "no branch" : `branch ${gitBranch}`;
  const details = [
    ...(isDirty ? ["uncommitted changes"] : []),
    ...(ahead > 0 ? [`${commits(ahead)} ahead`] : []),
    ...(behind > 0 ? [`${commits(behind)} behind`] : []),
  ];
  return {
    name: gitBranch === "" ? "detached" : gitBranch,
    isDirty,
    distance: [...(ahead > 0 ? [`↑${ahead}`] : []), ...(behind > 0 ? [`↓${behind}`] : [])].join(" "),
    title: [`On ${place} of ${repositoryWords(git, gitRepoPath)}`, ...details].join(", "),
  };
}

function repositoryWords({ gitIsWorktree, gitMainRepoPath }: GitStatus, root: string): string {
  if (gitIsWorktree !== true || gitMainRepoPath === undefined) return folderWords(root);
  return `${folderWords(root)}, a worktree of ${folderWords(gitMainRepoPath)}`;
}

function commits(count: number): string {
  return count === 1 ? "1 commit" : `${count} commits`;
}
