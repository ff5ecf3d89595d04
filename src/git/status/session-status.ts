import type { GitFacts } from "../../protocol/schemas/session.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { type Status, statusOf } from "./status.ts";

/** The part of a session's record that describes its repository, and the refs that it depends on. */
export type SessionStatus = {
  readonly facts: GitFacts;
  /** Short names. */
  readonly branch: string | undefined;
  readonly upstream: string | undefined;
};

/** `git`: at the repository's root. Throws as `Git.read` does. */
export async function readSessionStatus(git: Git, repository: Repository): Promise<SessionStatus> {
  if (!repository.isBare) return sessionStatus(repository, await statusOf(git));
  const head = await git.try("symbolic-ref", "--short", "-q", "HEAD");
  const branch = head.code === 0 ? head.stdout.replace(/\n$/, "") : undefined;
  const facts = { ...placeOf(repository, branch), gitHasChanges: false };
  return { facts, branch, upstream: undefined };
}

export function sessionStatus(repository: Repository, status: Status): SessionStatus {
  const { branch, upstream, ahead, behind, modified, untracked, staged, deleted } = status;
  const counts = ahead === undefined ? {} : { gitAheadCount: ahead, gitBehindCount: behind };
  const facts = {
    ...placeOf(repository, branch),
    ...counts,
    ...{ gitModifiedCount: modified, gitStagedCount: staged, gitDeletedCount: deleted },
    gitAddedCount: untracked,
    // Untracked files are no changes.
    gitHasChanges: modified + staged + deleted > 0,
  };
  return { facts, branch, upstream };
}

function placeOf({ root, mainRoot, isWorktree }: Repository, branch: string | undefined): GitFacts {
  const place = { gitRepoPath: root, gitIsWorktree: isWorktree, gitMainRepoPath: mainRoot };
  return { ...place, gitBranch: branch ?? "" };
}
