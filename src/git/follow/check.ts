// Checks both trees, and carries out what the rules say.
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Git } from "../git.ts";
import { FOLLOW_GONE_CHECK_MS, FOLLOW_SECOND_CHECK_MS, MAX_FOLLOW_CHECKS } from "../git-limits.ts";
import { removeEmptyFolder } from "../hooks/files.ts";
import { type Action, decide, type FollowEvent, type FollowState } from "./decide.ts";
import { doneMessage, type Message, refusedMessage } from "./messages.ts";
import { findObstacle, type Refusal } from "./obstacles.ts";
import { clearFollowSettings, type FollowSettings, writeFollowBranch } from "./settings.ts";
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

type Repository = { readonly mainRoot: string };

const EMPTY_IN_MAIN = ["refs/worktree/ttyhq", "refs/worktree"] as const;
/** Only in linked trees: a main tree without `refs` is not a repository. */
const EMPTY_IN_WORKTREE = [...EMPTY_IN_MAIN, "refs"] as const;

/**
 * The actions on which two successive checks agree: git is then not between two steps of a command. `undefined`: the
 * repository keeps changing.
 */
export async function checkTwice(
  git: Git,
  repository: Repository,
  settings: FollowSettings,
  event: FollowEvent,
): Promise<Check | undefined> {
  let last = await checkOnce(git, repository, settings, event);
  for (let checks = 1; checks < MAX_FOLLOW_CHECKS; checks += 1) {
    if (last.actions.length === 0) return last;
    const mayBeMoving = last.state.worktree === "gone" && last.isListed;
    await pause(mayBeMoving ? FOLLOW_GONE_CHECK_MS : FOLLOW_SECOND_CHECK_MS);
    const next = await checkOnce(git, repository, settings, event);
    if (JSON.stringify(next) === JSON.stringify(last)) return next;
    last = next;
  }
  return undefined;
}

export async function checkOnce(
  git: Git,
  repository: Repository,
  settings: FollowSettings,
  event: FollowEvent,
): Promise<Check> {
  // A new object: overrides depend on the repository's current config.
  const found = await readFollowState(git.at(git.cwd), repository, settings);
  return { ...found, actions: decide(found.state, event) };
}

/** Carries the actions out in order, up to the first obstacle. */
export async function carryOut(git: Git, { state, actions }: Check): Promise<Outcome> {
  const messages: Message[] = [];
  for (const action of actions) {
    const refusal = await doOne(git, state, action);
    const message = refusal === undefined ? doneMessage(action, state) : refusedMessage(action, refusal);
    if (message !== undefined) messages.push(message);
    if (action.kind === "end") return { end: "over", messages, trouble: undefined };
    if (refusal === undefined && action.kind !== "stuck") continue;
    return { end: "waiting", messages, trouble: troubleOf(action, refusal) };
  }
  return { end: "done", messages, trouble: undefined };
}

/** The first obstacle to the actions; changes nothing. */
export async function foresee(git: Git, { state, actions }: Check): Promise<Message | undefined> {
  for (const action of actions) {
    const refusal = await refusalOf(git, state, action);
    if (refusal !== undefined) return refusedMessage(action, refusal);
    if (action.kind === "stuck") return doneMessage(action, state);
  }
  return undefined;
}

async function doOne(git: Git, state: FollowState, action: Action): Promise<Refusal | undefined> {
  const mainGit = git.at(state.main.path);
  switch (action.kind) {
    case "fast-forward":
      return await fastForward(gitOf(git, state, action.tree), action);
    case "check-out":
      return await checkOut(
        gitOf(git, state, action.tree),
        action.branch,
        offBranch(treeOf(state, action.tree)),
      );
    case "detach":
      return await detach(mainGit, action.commit, offBranch(state.main));
    case "release":
      await release(mainGit, action.commit);
      return undefined;
    case "remember":
      await writeFollowBranch(mainGit, action.branch);
      return undefined;
    case "stuck":
    case "warn":
      return undefined;
    case "end":
      await forget(git, state);
      return undefined;
  }
}

function offBranch({ branch, head }: FollowState["main"]): string | undefined {
  return branch === undefined ? head : undefined;
}

async function refusalOf(git: Git, state: FollowState, action: Action): Promise<Refusal | undefined> {
  if (action.kind === "fast-forward")
    return await findObstacle(gitOf(git, state, action.tree), action.from, action.to);
  if (action.kind !== "check-out" && action.kind !== "detach") return undefined;
  const tree = action.kind === "check-out" ? treeOf(state, action.tree) : state.main;
  if (tree.head === undefined) return undefined;
  const to = action.kind === "check-out" ? `refs/heads/${action.branch}` : action.commit;
  return await canCheckOut(git.at(tree.path), tree.head, to);
}

function troubleOf(action: Action, refusal: Refusal | undefined): string {
  const tree = "tree" in action ? action.tree : "main";
  return JSON.stringify([tree, refusal?.why, refusal?.files]);
}

async function forget(git: Git, state: FollowState): Promise<void> {
  await clearFollowSettings(git.at(state.main.path));
  await clearTree(git.at(state.main.path), EMPTY_IN_MAIN);
  if (typeof state.worktree !== "string") await clearTree(git.at(state.worktree.path), EMPTY_IN_WORKTREE);
}

/** git keeps the empty folders of deleted refs. */
async function clearTree(git: Git, folders: readonly string[]): Promise<void> {
  await forgetDetached(git);
  const run = await git.try("rev-parse", "--absolute-git-dir");
  if (run.code !== 0) return;
  const gitDir = run.stdout.replace(/\n$/, "");
  for (const folder of folders) await removeEmptyFolder(path.join(gitDir, folder));
}

function gitOf(git: Git, state: FollowState, tree: "main" | "worktree"): Git {
  return git.at(treeOf(state, tree).path);
}

function treeOf({ main, worktree }: FollowState, name: "main" | "worktree"): FollowState["main"] {
  return name === "main" || typeof worktree === "string" ? main : worktree;
}
