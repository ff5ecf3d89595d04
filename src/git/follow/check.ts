// Checks both trees and carries out the actions of the rules.
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import { FOLLOW_GONE_CHECK_MS, FOLLOW_SECOND_CHECK_MS, MAX_FOLLOW_CHECKS } from "../git-limits.ts";
import { removeEmptyFolder } from "../hooks/files.ts";
import type { Repository } from "../repository.ts";
import { branchRef, shortBranchName } from "../worktrees/branches.ts";
import { readWorktrees, type WorktreeEntry } from "../worktrees/list.ts";
import { type Action, decide, type FollowEvent, type FollowState } from "./decide.ts";
import { type Message, refusedMessage, textsOf } from "./messages.ts";
import { findObstacle, type Refusal } from "./obstacles.ts";
import {
  clearFollowSettings,
  type FollowSettings,
  readFollowSettings,
  writeFollowBranch,
} from "./settings.ts";
import { type FoundState, readFollowState } from "./state.ts";
import { canCheckOut, checkOut, detach, fastForward, forgetDetached, release } from "./steps.ts";

export type Check = FoundState & { readonly actions: readonly Action[] };

/** The result of a list of actions. "waiting": an obstacle stopped the rest. */
export type Outcome = {
  readonly end: "done" | "waiting" | "over";
  readonly messages: readonly Message[];
  /** Identifies the obstacle. */
  readonly trouble: string | undefined;
};

/** `branch`: that of the worktree. */
export type EnableCheck = Check & { readonly branch: string };

const EMPTY_IN_MAIN = ["refs/worktree/ttyhq", "refs/worktree"] as const;
/** Only in linked trees: a main tree without `refs` is not a repository. */
const EMPTY_IN_WORKTREE = [...EMPTY_IN_MAIN, "refs"] as const;

/**
 * How the main tree would follow the worktree of `branch`, or the worktree of `repository`. Throws
 * `worktree_not_found`, `branch_not_found`, and `uncommitted_changes` during a rebase.
 */
export async function checkEnable(
  git: Git,
  repository: Repository,
  branch: string | undefined,
): Promise<EnableCheck> {
  const { path } = await findWorktree(git, repository, branch);
  const settings = { worktreePath: path, branch: undefined };
  const check = await checkOnce(git.at(repository.mainRoot), settings, "enable");
  const { main, worktree } = check.state;
  if (main.head === undefined) throw new ServiceError("branch_not_found", "the main tree has no commit yet");
  if (main.isBusy) {
    const message = "the main tree is in the middle of a rebase or a bisection: finish that first";
    throw new ServiceError("uncommitted_changes", message);
  }
  if (typeof worktree === "string") throw new ServiceError("worktree_not_found", `${path} is not there`);
  if (worktree.branch === undefined || worktree.head === undefined)
    throw new ServiceError("branch_not_found", `${path} is on no branch with commits: switch it to one`);
  return { ...check, branch: worktree.branch };
}

async function findWorktree(
  git: Git,
  repository: Repository,
  branch: string | undefined,
): Promise<WorktreeEntry> {
  const linked = (await readWorktrees(git, repository)).filter(({ isMain }) => !isMain);
  if (branch === undefined) {
    const here = linked.find(({ path }) => path === repository.root);
    if (here !== undefined) return here;
    if (repository.isWorktree) {
      const message = `git looks for the worktree ${repository.root} elsewhere: run \`git worktree repair\` in it`;
      throw new ServiceError("worktree_not_found", message);
    }
    throw new ServiceError(
      "invalid_request",
      "this is the main tree: name the branch that it is to follow, as in `ttyhq follow feature`",
    );
  }
  const name = shortBranchName(branch);
  const found = linked.find((entry) => entry.branch === name);
  if (found !== undefined) return found;
  const message = `no worktree has the branch ${name}: make one with \`git worktree add\``;
  throw new ServiceError("worktree_not_found", message);
}

/** `undefined`: nothing is followed. */
export async function checkDisable(git: Git, repository: Repository): Promise<Check | undefined> {
  const settings = await readFollowSettings(git);
  return settings && (await checkOnce(git.at(repository.mainRoot), settings, "disable"));
}

/**
 * The actions on which two successive checks agree: git is then not between two steps of a command. `undefined`: the
 * repository keeps changing.
 */
export async function checkTwice(git: Git, settings: FollowSettings): Promise<Check | undefined> {
  // A new object: overrides depend on the repository's current config.
  const check = (): Promise<Check> => checkOnce(git.at(git.cwd), settings, "changed");
  let last = await check();
  for (let checks = 1; checks < MAX_FOLLOW_CHECKS; checks += 1) {
    if (last.actions.length === 0) return last;
    const mayBeMoving = last.state.worktree === "gone" && last.isListed;
    await pause(mayBeMoving ? FOLLOW_GONE_CHECK_MS : FOLLOW_SECOND_CHECK_MS);
    const next = await check();
    if (isDeepStrictEqual(next, last)) return next;
    last = next;
  }
  return undefined;
}

async function checkOnce(git: Git, settings: FollowSettings, event: FollowEvent): Promise<Check> {
  const found = await readFollowState(git, settings, event);
  return { ...found, actions: decide(found.state, event) };
}

/** Carries the actions out in order, up to the first obstacle. */
export async function carryOut(git: Git, { state, actions }: Check): Promise<Outcome> {
  const messages: Message[] = [];
  for (const action of actions) {
    const refusal = await carryOutOne(git, state, action);
    const message = refusal === undefined ? textsOf(action, state).done : refusedMessage(action, refusal);
    if (message !== undefined) messages.push(message);
    if (action.kind === "end") return { end: "over", messages, trouble: undefined };
    if (refusal === undefined && action.kind !== "stuck") continue;
    const trouble = JSON.stringify([treeOf(state, action).path, refusal?.why, refusal?.files]);
    return { end: "waiting", messages, trouble };
  }
  return { end: "done", messages, trouble: undefined };
}

/** The first obstacle to the actions; changes nothing. */
export async function foresee(git: Git, { state, actions }: Check): Promise<Message | undefined> {
  for (const action of actions) {
    const refusal = await refusalOf(git.at(treeOf(state, action).path), state, action);
    if (refusal !== undefined) return refusedMessage(action, refusal);
    if (action.kind === "stuck") return textsOf(action, state).done;
  }
  return undefined;
}

async function carryOutOne(git: Git, state: FollowState, action: Action): Promise<Refusal | undefined> {
  const tree = treeOf(state, action);
  const here = git.at(tree.path);
  const left = tree.branch === undefined ? tree.head : undefined;
  switch (action.kind) {
    case "fast-forward":
      return await fastForward(here, action);
    case "check-out":
      return await checkOut(here, action.branch, left);
    case "detach":
      return await detach(here, action.commit, left);
    case "release":
      await release(here, tree.branch, action.commit);
      return undefined;
    case "remember":
      await writeFollowBranch(here, action.branch);
      return undefined;
    case "end":
      await forget(git, state);
      return undefined;
    default:
      return undefined;
  }
}

async function refusalOf(here: Git, state: FollowState, action: Action): Promise<Refusal | undefined> {
  if (action.kind === "fast-forward") return await findObstacle(here, action.from, action.to);
  if (action.kind !== "check-out" && action.kind !== "detach") return undefined;
  const { head } = treeOf(state, action);
  const to = action.kind === "check-out" ? branchRef(action.branch) : action.commit;
  return head === undefined ? undefined : await canCheckOut(here, head, to);
}

async function forget(git: Git, state: FollowState): Promise<void> {
  await clearFollowSettings(git.at(state.main.path));
  await clearTree(git.at(state.main.path), EMPTY_IN_MAIN);
  if (typeof state.worktree !== "string") await clearTree(git.at(state.worktree.path), EMPTY_IN_WORKTREE);
}

/** Removes what a killed process noted of a detached HEAD from trees that are on a branch. */
export async function forgetStale(git: Git, { main, worktree }: FollowState): Promise<void> {
  for (const tree of [main, worktree])
    if (typeof tree !== "string" && tree.branch !== undefined) await forgetDetached(git.at(tree.path));
}

/** git keeps the empty folders of deleted refs. */
async function clearTree(git: Git, folders: readonly string[]): Promise<void> {
  await forgetDetached(git);
  const run = await git.try("rev-parse", "--absolute-git-dir");
  if (run.code !== 0) return;
  const gitDir = run.stdout.replace(/\n$/, "");
  for (const folder of folders) await removeEmptyFolder(path.join(gitDir, folder));
}

function treeOf({ main, worktree }: FollowState, action: Action): FollowState["main"] {
  const isMain = !("tree" in action) || action.tree === "main";
  return isMain || typeof worktree === "string" ? main : worktree;
}
