import { ServiceError } from "../../protocol/errors.ts";
import type { BranchRecord } from "../../protocol/schemas/git.ts";
import type { Git } from "../git.ts";
import { requireRepository } from "../repository.ts";
import { readWorktrees } from "./list.ts";

/** The unambiguous start of a new branch. */
export type BranchStart = { readonly ref: string; readonly commit: string };

/**
 * The start of a new branch: `base`, else the branch of that name on the only remote, else HEAD; `undefined` for an
 * existing branch without a base. Throws `branch_exists` for one with a base, and `branch_not_found` without such a
 * base or a commit.
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
  // HEAD differs between working trees.
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

/** The branch that is checked out; `undefined`: HEAD is detached. */
export async function currentBranch(git: Git): Promise<string | undefined> {
  const run = await git.try("symbolic-ref", "--quiet", "HEAD");
  return run.code === 0 ? run.stdout.trimEnd().replace(/^refs\/heads\//, "") : undefined;
}

const FORMAT = "--format=%(refname)%00%(objectname)%00%(symref)";

/** The existing refs among `names`, by full name. `symref`: the target of a symbolic ref; else empty. */
export async function readRefs(
  git: Git,
  names: readonly string[],
): Promise<ReadonlyMap<string, { readonly commit: string; readonly symref: string }>> {
  const refs = new Map<string, { readonly commit: string; readonly symref: string }>();
  for (const line of (await git.read("for-each-ref", FORMAT, "--", ...names)).split("\n")) {
    const [name = "", commit = "", symref = ""] = line.split("\0");
    // A pattern also matches the refs below it.
    if (names.includes(name)) refs.set(name, { commit, symref });
  }
  return refs;
}

/** Remote-tracking branches of that name, by full name. */
export async function readRemoteRefs(git: Git, branch: string): Promise<readonly string[]> {
  const text = await git.read("for-each-ref", "--format=%(refname)", "--", `refs/remotes/*/${branch}`);
  return text.split("\n").filter((name) => name !== "");
}

const HEADS = "refs/heads/";
/** Forbidden in refs by git-check-ref-format(1). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match them
const FORBIDDEN = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^\/|[/.]$/;

/** Why `git check-ref-format --branch` rejects the name; `undefined`: valid. */
export function branchNameProblem(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (!name.isWellFormed()) return "it is no text";
  if (name.startsWith("-")) return "it begins with a hyphen";
  if (name === "HEAD") return "HEAD is what git calls the current commit";
  const [forbidden] = FORBIDDEN.exec(name) ?? [];
  if (forbidden !== undefined) return `it has ${JSON.stringify(forbidden)} where a branch must not`;
  for (const component of name.split("/")) {
    if (component.startsWith(".")) return "a part of it begins with a dot";
    if (component.endsWith(".lock")) return "a part of it ends with .lock";
  }
  return undefined;
}

/** The name without `refs/heads/`, which old clients send with it. Throws `invalid_branch_name`. */
export function shortBranchName(text: string): string {
  const name = text.startsWith(HEADS) ? text.slice(HEADS.length) : text;
  const problem = branchNameProblem(name);
  if (problem === undefined) return name;
  throw new ServiceError(
    "invalid_branch_name",
    `${JSON.stringify(text)} is no name for a branch: ${problem}`,
  );
}

/** The full ref of a branch, which git cannot mistake for a tag or an option. */
export function branchRef(name: string): string {
  return `${HEADS}${name}`;
}

/** Further branches are left out. */
const MAX_BRANCHES = 10_000;

/** The current branch, then local branches, then those of remotes, by name. Throws `not_a_repository`. */
export async function readBranches(git: Git): Promise<BranchRecord[]> {
  const repository = await requireRepository(git);
  const format = "--format=%(refname)%00%(symref)%00%(HEAD)";
  const order = ["--sort=refname", `--count=${MAX_BRANCHES}`];
  const [text, entries] = await Promise.all([
    git.read("for-each-ref", format, ...order, "--", "refs/heads/", "refs/remotes/"),
    readWorktrees(git, repository),
  ]);
  // In follow mode the main tree shares the branch of a linked one.
  const trees = new Map(
    entries.toReversed().flatMap(({ branch, path }) => (branch === undefined ? [] : [[branch, path]])),
  );
  const branches = text.split("\n").flatMap((line): BranchRecord[] => {
    const [, kind, name] = /^refs\/(heads|remotes)\/([^\0]+)\0\0/.exec(line) ?? [];
    if (name === undefined) return [];
    const remote = kind === "remotes";
    return [{ name, remote, current: line.endsWith("*"), worktree: remote ? undefined : trees.get(name) }];
  });
  return branches.sort((one, other) => Number(other.current) - Number(one.current));
}
