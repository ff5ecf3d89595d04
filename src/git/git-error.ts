import { scrub } from "../lib/redact.ts";
import { type ErrorCode, ServiceError } from "../protocol/errors.ts";
import type { GitRun } from "./git-process.ts";

/** Of git's messages, in UTF-16 units. */
const MAX_SAID = 2_000;

/** Messages of git (with LC_ALL=C) whose reason has a code of its own. The first match counts. */
const REASONS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^fatal: detected dubious ownership/m, "forbidden"],
  [/^fatal: (?:not a git repository|cannot change to |Invalid path )/m, "not_a_repository"],
  [/^fatal: this operation must be run in a work tree/m, "not_a_repository"],
  [/^fatal: '.*' is not a valid branch name/ms, "invalid_branch_name"],
  [
    /^fatal: .*(?:is already checked out at|is already used by worktree at|cannot force update the branch)/ms,
    "branch_checked_out",
  ],
  [/^fatal: (?:a|A) branch named '.*' already exists/ms, "branch_exists"],
  [/^fatal: '.*' already exists$/ms, "worktree_path_exists"],
  [/^fatal: '.*' is a missing but (?:locked|already registered) worktree/ms, "worktree_path_exists"],
  [/^fatal: '.*' contains modified or untracked files/ms, "uncommitted_changes"],
  [/^error: Your local changes to the following files would be overwritten/m, "uncommitted_changes"],
  [
    /^error: The following untracked working tree files would be (?:overwritten|removed)/m,
    "uncommitted_changes",
  ],
  [/^fatal: working trees containing submodules cannot be/m, "uncommitted_changes"],
  [/^fatal: cannot switch branch (?:while|in the middle of)/m, "uncommitted_changes"],
  [/^fatal: invalid reference: /m, "branch_not_found"],
  [/^fatal: cannot (?:remove|move) a locked working tree/m, "worktree_locked"],
  [/^fatal: '.*' is a main working tree/ms, "main_worktree"],
];

/** The error of a failed git command: a named condition, else `git_failed` with git's message. */
export function gitError(what: string, { stderr, code }: GitRun): ServiceError {
  const said = scrub(stderr.trim()).slice(0, MAX_SAID);
  const reason = REASONS.find(([pattern]) => pattern.test(stderr))?.[1] ?? "git_failed";
  const line = said.split("\n").find((text) => /^(?:fatal|error): /.test(text)) ?? said.split("\n")[0];
  const message = line?.replace(/^(?:fatal|error): /, "").trim() || `it ended with ${code} and said nothing`;
  return new ServiceError(reason, `git ${what}: ${message}`, { details: { git: said, exitCode: code } });
}
