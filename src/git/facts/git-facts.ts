import type { GitFacts } from "../../protocol/schemas/session.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { parseStatus } from "../status.ts";
import type { FactRefs } from "./fact-places.ts";

/** What is said of a working tree, and the refs that this depends on. */
export type FoundFacts = { readonly facts: GitFacts; readonly refs: FactRefs };

/** A folder of untracked files is one of them; no submodule is looked into. */
const STATUS = ["status", "--porcelain=v2", "--branch", "--ahead-behind", "-z"] as const;
const DEPTH = ["--untracked-files=normal", "--ignore-submodules=dirty"] as const;

/** `git`: at the repository's root. Throws as `Git.read` does. */
export async function readGitFacts(git: Git, repository: Repository): Promise<FoundFacts> {
  if (repository.isBare) return bareFacts(repository, await git.try("symbolic-ref", "--short", "-q", "HEAD"));
  return treeFacts(repository, await git.read(...STATUS, ...DEPTH));
}

/** `status`: what `git status --porcelain=v2 --branch -z` says there. */
export function treeFacts(repository: Repository, status: string): FoundFacts {
  const { branch, ahead, behind, modified, untracked, staged, deleted } = parseStatus(status);
  const lines = status.split("\0");
  const upstream = lines.find((line) => line.startsWith(UPSTREAM))?.slice(UPSTREAM.length);
  // An upstream that is configured and gone has no numbers.
  const isThere = lines.some((line) => line.startsWith("# branch.ab "));
  const counts = isThere ? { gitAheadCount: ahead, gitBehindCount: behind } : {};
  const files = { gitModifiedCount: modified, gitStagedCount: staged, gitDeletedCount: deleted };
  const facts = {
    ...{ ...placeOf(repository, branch), ...counts, ...files, gitAddedCount: untracked },
    // Files that git does not track are no changes.
    gitHasChanges: Object.values(files).some((count) => count > 0),
  };
  return { facts, refs: { branch, upstream } };
}

const UPSTREAM = "# branch.upstream ";

function bareFacts(
  repository: Repository,
  head: { readonly code: number; readonly stdout: string },
): FoundFacts {
  const branch = head.code === 0 ? head.stdout.replace(/\n$/, "") : undefined;
  return {
    facts: { ...placeOf(repository, branch), gitHasChanges: false },
    refs: { branch, upstream: undefined },
  };
}

function placeOf({ root, mainRoot, isWorktree }: Repository, branch: string | undefined): GitFacts {
  const place = { gitRepoPath: root, gitIsWorktree: isWorktree, gitMainRepoPath: mainRoot };
  return { ...place, gitBranch: branch ?? "" };
}
