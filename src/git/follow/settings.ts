// Settings of follow mode (contract 7.3) in the config of the main repository, which all its trees share.
import type { Git } from "../git.ts";
import { gitError } from "../git-error.ts";
import type { ScopedEntry } from "../local-config.ts";

const WORKTREE_KEY = "ttyhq.followWorktree";
/** The branch of both trees when they were last in sync: it shows a later switch in one of them. */
const BRANCH_KEY = "ttyhq.followBranch";
/** Exit code of `git config --unset-all` without a match. */
const NOTHING_UNSET = 5;

export type FollowSettings = {
  /** Absolute. */
  readonly worktreePath: string;
  readonly branch: string | undefined;
};

/** The current settings; `undefined`: nothing is followed. `git` may be in any of the trees. */
export async function readFollowSettings(git: Git): Promise<FollowSettings | undefined> {
  return followSettings(await git.at(git.cwd).config());
}

/** The same in a config that was read before. */
export function followSettings(entries: readonly ScopedEntry[]): FollowSettings | undefined {
  const setting = (name: string): string | undefined =>
    entries.findLast(({ key, scope }) => scope === "local" && key === name.toLowerCase())?.value || undefined;
  const worktreePath = setting(WORKTREE_KEY);
  return worktreePath === undefined ? undefined : { worktreePath, branch: setting(BRANCH_KEY) };
}

export async function writeFollowSettings(git: Git, { worktreePath, branch }: FollowSettings): Promise<void> {
  await writeFollowPath(git, worktreePath);
  await writeFollowBranch(git, branch);
}

export async function writeFollowPath(git: Git, path: string): Promise<void> {
  await git.write("config", "--local", "--replace-all", WORKTREE_KEY, path);
}

/** `undefined`: they are not in sync yet. */
export async function writeFollowBranch(git: Git, branch: string | undefined): Promise<void> {
  await git.write("config", "--local", "--replace-all", BRANCH_KEY, branch ?? "");
}

export async function clearFollowSettings(git: Git): Promise<void> {
  for (const key of [BRANCH_KEY, WORKTREE_KEY]) {
    const run = await git.tryWrite(["config", "--local", "--unset-all", key]);
    if (run.code !== 0 && run.code !== NOTHING_UNSET) throw gitError("config", run);
  }
}
