import { ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import { readRefs, readRemoteRefs } from "../refs.ts";
import { branchRef, shortBranchName } from "./branch-name.ts";

/** What a new branch begins at, as git understands nothing else by it. */
export type BranchStart = { readonly ref: string; readonly commit: string };

/**
 * For a new branch: `base`, else the branch of that name on a remote, else the commit that is checked out where it was
 * asked for; `undefined` for a branch that there is, where no base was named. Throws `branch_exists` where one was,
 * `branch_not_found` for a base that there is not, and where there is no commit yet.
 */
export async function startOf(
  git: Git,
  branch: string,
  base: string | undefined,
): Promise<BranchStart | undefined> {
  const isThere = (await readRefs(git, [branchRef(branch)])).size > 0;
  if (base !== undefined) {
    if (isThere) throw new ServiceError("branch_exists", `there is a branch ${branch} already`);
    return await baseOf(git, base);
  }
  if (isThere) return undefined;
  const [remote, ...others] = await readRemoteRefs(git, branch);
  const ref = remote !== undefined && others.length === 0 ? remote : "HEAD";
  const commit = await commitOf(git, ref);
  if (commit === undefined) {
    const message = `there is no branch ${branch}, and no commit yet that it could begin at`;
    throw new ServiceError("branch_not_found", message);
  }
  // HEAD is another one in another working tree.
  return { ref: ref === "HEAD" ? commit : ref, commit };
}

async function baseOf(git: Git, base: string): Promise<BranchStart> {
  const name = shortBranchName(base);
  for (const ref of [branchRef(name), `refs/remotes/${name}`, `refs/tags/${name}`]) {
    const commit = await commitOf(git, ref);
    if (commit !== undefined) return { ref, commit };
  }
  throw new ServiceError("branch_not_found", `there is no branch or tag ${name} to begin at`);
}

export async function commitOf(git: Git, ref: string): Promise<string | undefined> {
  const { stdout, code } = await git.try("rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
  return code === 0 ? stdout.trim() : undefined;
}
