// States of both trees, and the state after an action.
import type { Action, FollowState, Tree } from "../../../src/git/follow/decide.ts";

export const A = "a".repeat(40);
export const B = "b".repeat(40);
export const C = "c".repeat(40);

/** A tree on a branch, with the files of its commit. */
export function on(branch: string, head = A, more: Partial<Tree> = {}): Tree {
  return { path: "/r", branch, head, at: head, isBusy: false, detached: undefined, isKept: false, ...more };
}

/** A tree with a detached HEAD. */
export function detached(head = A, more: Partial<Tree> = {}): Tree {
  return { ...on("", head), branch: undefined, ...more };
}

/** The state after the action. */
export function done(before: FollowState, action: Action): FollowState {
  const { worktree } = before;
  if (typeof worktree === "string") return before;
  const tip = (branch: string): string | undefined =>
    [before.main, worktree].find((tree) => tree.branch === branch)?.head;
  switch (action.kind) {
    case "fast-forward":
      return action.tree === "main"
        ? { ...before, main: { ...before.main, at: action.to } }
        : { ...before, worktree: { ...worktree, at: action.to } };
    case "check-out": {
      const head = tip(action.branch);
      const tree = { branch: action.branch, head, at: head, detached: undefined };
      return action.tree === "main"
        ? { ...before, main: { ...before.main, ...tree } }
        : { ...before, worktree: { ...worktree, ...tree } };
    }
    case "detach":
      return { ...before, main: { ...detached(action.commit), detached: "there" } };
    case "remember":
      return { ...before, branch: action.branch };
    default:
      return before;
  }
}
