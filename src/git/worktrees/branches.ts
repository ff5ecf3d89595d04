import type { Git } from "../git.ts";
import { requireRepository } from "../repository.ts";
import { readWorktrees } from "./list.ts";

export type Branch = {
  /** Short: of a remote's branch with the name of the remote before it. */
  readonly name: string;
  /** Whether it is checked out where it was asked for. */
  readonly isCurrent: boolean;
  readonly isRemote: boolean;
  /** The working tree that it is checked out in. */
  readonly worktree: string | undefined;
};

/** More are left out: the remotes' last by their names. */
const MAX_BRANCHES = 10_000;

/** The current branch, then those that are here, then those of remotes, by name. Throws `not_a_repository`. */
export async function readBranches(git: Git): Promise<readonly Branch[]> {
  const repository = await requireRepository(git);
  const format = "--format=%(refname)%00%(symref)%00%(HEAD)";
  const order = ["--sort=refname", `--count=${MAX_BRANCHES}`];
  const [text, entries] = await Promise.all([
    git.read("for-each-ref", format, ...order, "--", "refs/heads/", "refs/remotes/"),
    readWorktrees(git, repository),
  ]);
  // Where several are on one branch, follow mode has brought the main one there.
  const trees = new Map(
    entries.toReversed().flatMap(({ branch, path }) => (branch === undefined ? [] : [[branch, path]])),
  );
  const branches = text.split("\n").flatMap((line): Branch[] => {
    const [, kind, name] = /^refs\/(heads|remotes)\/([^\0]+)\0\0/.exec(line) ?? [];
    if (name === undefined) return [];
    const isRemote = kind === "remotes";
    const worktree = isRemote ? undefined : trees.get(name);
    return [{ name, isRemote, isCurrent: line.endsWith("*"), worktree }];
  });
  return branches.sort((one, other) => Number(other.isCurrent) - Number(one.isCurrent));
}
