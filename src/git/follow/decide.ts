// The rules of follow mode (specification 3.3), without effects. The main tree and the followed worktree are on one
// branch; git moves the branch for both and the files of one. `Tree.at` tells where the files of each are.

/** One of the two working trees. Branches by their short names, commits by their ids. */
export type Tree = {
  readonly path: string;
  /** `undefined`: HEAD is detached. */
  readonly branch: string | undefined;
  /** The commit of HEAD; `undefined`: a branch without a commit. */
  readonly head: string | undefined;
  /** The commit that the files and the index come from: where this tree's own HEAD was last moved to. `undefined`: unknown. */
  readonly at: string | undefined;
  /** HEAD is detached because git is in the middle of a rebase or a bisection, and will be back. */
  readonly isBusy: boolean;
  /** Follow mode has detached HEAD itself; where HEAD is now, seen from there. */
  readonly detached: "there" | "ahead" | "elsewhere" | undefined;
  /** The last step here was a commit onto `onto` with files of `of`: it reverts the commits in between. */
  readonly blind?: { readonly commit: string; readonly of: string; readonly onto: string } | undefined;
  /** HEAD's commit is on some branch or tag: leaving it loses nothing. */
  readonly isKept: boolean;
};

export type FollowState = {
  readonly main: Tree;
  /**
   * "away": its folder is not there, and it is locked, as on a disk that is not plugged in. When follow mode is disabled also
   * one that cannot be read.
   */
  readonly worktree: Tree | "away" | "gone";
  /** The branch that both were on when they last agreed. */
  readonly branch: string | undefined;
};

/** "enable", "disable": a request. "changed": something may have changed; the state tells. */
export type FollowEvent = "enable" | "disable" | "changed";

export type TreeName = "main" | "worktree";
export type EndReason = "asked" | "switched" | "worktree_gone" | "branch_gone";

/** Actions are carried out in order; the first refused one ends the list. */
export type Action =
  /** Files and index from one commit of the tree's branch to another; local edits stay. Refused: the tree is detached. */
  | {
      readonly kind: "fast-forward";
      readonly tree: TreeName;
      readonly branch: string;
      readonly from: string;
      readonly to: string;
    }
  /** The tree checks out the branch, which the other one is on. */
  | { readonly kind: "check-out"; readonly tree: TreeName; readonly branch: string }
  /** The main tree goes to a commit without a branch, as the worktree did. */
  | { readonly kind: "detach"; readonly commit: string }
  /** The main tree releases the branch and stays at this commit; no file changes. */
  | { readonly kind: "release"; readonly commit: string }
  | { readonly kind: "remember"; readonly branch: string }
  /** A tree has commits that are on no branch, or files of an unknown commit: it stays as it is. */
  | { readonly kind: "stuck"; readonly tree: TreeName; readonly why: "own_commits" | "unknown_files" }
  /** Reports a commit that was made in the tree before it was fast-forwarded. */
  | {
      readonly kind: "warn";
      readonly tree: TreeName;
      readonly commit: string;
      readonly of: string;
      readonly onto: string;
    }
  | { readonly kind: "end"; readonly reason: EndReason };

/** The actions that bring both trees into sync; none if they are. */
export function decide(state: FollowState, event: FollowEvent): readonly Action[] {
  const { main, worktree, branch } = state;
  if (event === "disable") return [...releasing(state), { kind: "end", reason: "asked" }];
  if (worktree === "away") return [];
  if (worktree === "gone") return [{ kind: "end", reason: "worktree_gone" }];
  if (event === "enable") return enabling(main, worktree);
  if (main.isBusy) return [];
  if (main.head === undefined) return [{ kind: "end", reason: "branch_gone" }];
  if (hasLeft(main, worktree, branch)) return [{ kind: "end", reason: "switched" }];
  const moves = [
    ...warning("main", main, worktree),
    ...warning("worktree", worktree, main),
    ...fastForwarding("main", main),
    ...fastForwarding("worktree", worktree),
  ];
  if (moves.some(({ kind }) => kind === "stuck") || worktree.isBusy) return moves;
  return [...moves, ...meeting(main, worktree, branch)];
}

/**
 * The main tree releases a shared branch: nothing keeps it in sync any more, and git would refuse the branch to the
 * worktree.
 */
function releasing({ main, worktree, branch }: FollowState): readonly Action[] {
  if (worktree === "gone" || main.branch === undefined) return [];
  const commit = main.at ?? main.head;
  const isShared = main.branch === branch || (worktree !== "away" && main.branch === worktree.branch);
  return isShared && commit !== undefined ? [{ kind: "release", commit }] : [];
}

function enabling(main: Tree, worktree: Tree): readonly Action[] {
  const { branch } = worktree;
  if (branch === undefined) return [];
  // A checkout would take files of an older commit along, as if they were edits.
  const moves = fastForwarding("main", main);
  if (main.branch === branch) return [...moves, { kind: "remember", branch }];
  const isFree = main.branch !== undefined || main.isKept || main.detached === "there";
  if (!isFree) return [{ kind: "stuck", tree: "main", why: "own_commits" }];
  return [...moves, ...checkingOut("main", branch)];
}

/** The user switched the main tree to another branch or to a commit. */
function hasLeft(main: Tree, worktree: Tree, branch: string | undefined): boolean {
  if (main.branch === undefined) return main.detached === undefined || main.detached === "elsewhere";
  return main.branch !== branch && main.branch !== worktree.branch;
}

/** The branch has moved and the files have not. */
function fastForwarding(tree: TreeName, { branch, head, at }: Tree): readonly Action[] {
  if (branch === undefined || head === undefined || at === head) return [];
  if (at === undefined) return [{ kind: "stuck", tree, why: "unknown_files" }];
  return [{ kind: "fast-forward", tree, branch, from: at, to: head }];
}

/** Once: the other tree is fast-forwarded afterwards. */
function warning(tree: TreeName, { blind, head }: Tree, other: Tree): readonly Action[] {
  const isNew =
    blind !== undefined && blind.commit === head && other.head === head && other.at === blind.onto;
  return isNew ? [{ kind: "warn", tree, ...blind }] : [];
}

/** The main tree goes to the worktree, and a detached worktree back to its branch. */
function meeting(main: Tree, worktree: Tree, branch: string | undefined): readonly Action[] {
  if (worktree.head === undefined) return [];
  if (worktree.branch === undefined) {
    if (isDetachedByUs(worktree)) return returning(worktree, branch);
    if (main.branch === undefined && main.head === worktree.head) return [];
    return leaving(main, { kind: "detach", commit: worktree.head });
  }
  if (main.branch !== worktree.branch) {
    const [checkOut, remember] = checkingOut("main", worktree.branch);
    return leaving(main, checkOut, remember);
  }
  return main.branch === branch ? [] : [{ kind: "remember", branch: main.branch }];
}

function isDetachedByUs({ detached }: Tree): boolean {
  return detached === "there" || detached === "ahead";
}

function returning(worktree: Tree, branch: string | undefined): readonly Action[] {
  if (branch === undefined) return [];
  const isFree = worktree.detached === "there" || worktree.isKept;
  return isFree
    ? [{ kind: "check-out", tree: "worktree", branch }]
    : [{ kind: "stuck", tree: "worktree", why: "own_commits" }];
}

/** A main tree with commits on no branch stays. */
function leaving(main: Tree, ...actions: readonly Action[]): readonly Action[] {
  return main.branch === undefined && main.detached === "ahead" && !main.isKept
    ? [{ kind: "stuck", tree: "main", why: "own_commits" }]
    : actions;
}

function checkingOut(tree: TreeName, branch: string): readonly [Action, Action] {
  return [
    { kind: "check-out", tree, branch },
    { kind: "remember", branch },
  ];
}
