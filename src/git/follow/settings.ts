// Settings of follow mode (contract 7.3) in the config of the main repository, which all its trees share.
import type { Git } from "../git.ts";
import { gitError } from "../git-error.ts";

const WORKTREE_KEY = "ttyhq.followWorktree";
/** The branch of both trees when they were last in sync: it shows a later switch in one of them. */
const BRANCH_KEY = "ttyhq.followBranch";
/** Exit codes of `git config --get-regexp` and `git config --unset-all` without a match. */
const NOTHING_FOUND = 1;
const NOTHING_UNSET = 5;

export type FollowSettings = {
  /** Absolute. */
  readonly worktreePath: string;
  readonly branch: string | undefined;
};

/** `undefined`: nothing is followed. `git` may be in any of the trees. Throws as `Git.read` does. */
export async function readFollowSettings(git: Git): Promise<FollowSettings | undefined> {
  const run = await git.try("config", "--local", "-z", "--get-regexp", "^ttyhq\\.follow");
  if (run.code === NOTHING_FOUND) return undefined;
  // Any other code, as of a killed process, is not an answer.
  if (run.code !== 0) throw gitError("config", run);
  const values = new Map(run.stdout.split("\0").map(entry));
  const worktreePath = values.get(WORKTREE_KEY.toLowerCase());
  if (worktreePath === undefined || worktreePath === "") return undefined;
  const branch = values.get(BRANCH_KEY.toLowerCase());
  return { worktreePath, branch: branch === "" ? undefined : branch };
}

/** The path of the followed worktree, from the config that `git` has read already. */
export async function readFollowedPath(git: Git): Promise<string | undefined> {
  const entries = await git.config();
  return entries.findLast(({ key, scope }) => scope === "local" && key === WORKTREE_KEY.toLowerCase())?.value;
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
    if (run.code !== 0 && run.code !== NOTHING_UNSET)
      await git.write("config", "--local", "--unset-all", key);
  }
}

function entry(text: string): readonly [string, string] {
  const end = text.indexOf("\n");
  return end === -1 ? [text, ""] : [text.slice(0, end), text.slice(end + 1)];
}
