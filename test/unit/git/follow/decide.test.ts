import { describe, expect, test } from "vitest";
import {
  type Action,
  decide,
  type FollowEvent,
  type FollowState,
  type Tree,
} from "../../../../src/git/follow/decide.ts";
import { A, B, C, detached, done, on } from "../follow-model.ts";

const changed = "changed";
const enable = "enable";
const disable = "disable";

function state(
  main: Tree,
  worktree: FollowState["worktree"],
  branch: string | undefined = "feature",
): FollowState {
  return { main, worktree, branch };
}

const fastForward = (tree: "main" | "worktree", from: string, to: string, branch = "feature"): Action => ({
  ...{ kind: "fast-forward", tree, branch, from, to },
});
const checkOut = (tree: "main" | "worktree", branch: string): Action => ({ kind: "check-out", tree, branch });
const remember = (branch: string): Action => ({ kind: "remember", branch });
const end = (reason: Extract<Action, { kind: "end" }>["reason"]): Action => ({ kind: "end", reason });
const stuck = (tree: "main" | "worktree", why: "own_commits" | "unknown_files"): Action => ({
  kind: "stuck",
  tree,
  why,
});

type Row = readonly [string, FollowState, FollowEvent, readonly Action[]];

const RULES: readonly Row[] = [
  ["nothing is done where both are on one commit", state(on("feature"), on("feature")), changed, []],
  // The worktree leads.
  [
    "a commit, merge, pull, cherry-pick, amended commit or rebase in the worktree brings the main tree along",
    state(on("feature", B, { at: A }), on("feature", B)),
    changed,
    [fastForward("main", A, B)],
  ],
  [
    "a reset in the worktree takes the main tree back",
    state(on("feature", A, { at: B }), on("feature", A)),
    changed,
    [fastForward("main", B, A)],
  ],
  [
    "a branch switch in the worktree takes the main tree along",
    state(on("feature"), on("other", B)),
    changed,
    [checkOut("main", "other"), remember("other")],
  ],
  [
    "a commit and a switch at once are two steps",
    state(on("feature", B, { at: A }), on("other", C)),
    changed,
    [fastForward("main", A, B), checkOut("main", "other"), remember("other")],
  ],
  [
    "a checkout of a commit in the worktree takes the main tree there",
    state(on("feature"), detached(B)),
    changed,
    [{ kind: "detach", commit: B }],
  ],
  [
    "both on one commit without a branch is rest",
    state(detached(B, { detached: "there" }), detached(B)),
    changed,
    [],
  ],
  [
    "a commit on no branch in the worktree takes the main tree there",
    state(detached(A, { detached: "there" }), detached(B)),
    changed,
    [{ kind: "detach", commit: B }],
  ],
  [
    "back on a branch, the worktree takes the main tree along",
    state(detached(A, { detached: "there" }), on("feature")),
    changed,
    [checkOut("main", "feature"), remember("feature")],
  ],
  [
    "a rebase in the worktree is waited for",
    state(on("feature"), detached(B, { isBusy: true })),
    changed,
    [],
  ],
  [
    "a worktree on a branch without commits is waited for",
    state(on("feature"), { ...on("new"), head: undefined, at: undefined }),
    changed,
    [],
  ],
  [
    "a renamed branch is the same branch",
    state(on("renamed"), on("renamed")),
    changed,
    [remember("renamed")],
  ],
  // The main tree: its commits go to the worktree, its switches end it.
  [
    "a commit in the main tree brings the worktree along",
    state(on("feature", B), on("feature", B, { at: A })),
    changed,
    [fastForward("worktree", A, B)],
  ],
  [
    "a branch that was moved from elsewhere takes both along",
    state(on("feature", C, { at: A }), on("feature", C, { at: B })),
    changed,
    [fastForward("main", A, C), fastForward("worktree", B, C)],
  ],
  ["a branch switch in the main tree ends it", state(on("main"), on("feature")), changed, [end("switched")]],
  [
    "a checkout of a commit in the main tree ends it",
    state(detached(), on("feature")),
    changed,
    [end("switched")],
  ],
  [
    "a rebase or bisection in the main tree is waited for",
    state(detached(B, { isBusy: true }), on("feature")),
    changed,
    [],
  ],
  ["both switched to one branch is no end", state(on("other"), on("other")), changed, [remember("other")]],
  [
    "both switched to different branches: the main tree's switch counts",
    state(on("main"), on("other")),
    changed,
    [end("switched")],
  ],
  // Actions that wait.
  [
    "a main tree that was held back comes along",
    state(detached(A, { detached: "there" }), on("feature", B)),
    changed,
    [checkOut("main", "feature"), remember("feature")],
  ],
  [
    "a main tree that was held back stays with commits of its own",
    state(detached(B, { detached: "ahead" }), on("feature", C)),
    changed,
    [stuck("main", "own_commits")],
  ],
  [
    "and comes along once they are on a branch",
    state(detached(B, { detached: "ahead", isKept: true }), on("feature", C)),
    changed,
    [checkOut("main", "feature"), remember("feature")],
  ],
  [
    "a main tree that was held back and then moved elsewhere was switched",
    state(detached(C, { detached: "elsewhere" }), on("feature")),
    changed,
    [end("switched")],
  ],
  [
    "a worktree that was held back comes back to its branch",
    state(on("feature", B), detached(A, { detached: "there" })),
    changed,
    [checkOut("worktree", "feature")],
  ],
  [
    "a worktree that was held back stays with commits of its own",
    state(on("feature", B), detached(C, { detached: "ahead" })),
    changed,
    [stuck("worktree", "own_commits")],
  ],
  [
    "a worktree that was held back and then moved elsewhere leads again",
    state(on("feature", B), detached(C, { detached: "elsewhere" })),
    changed,
    [{ kind: "detach", commit: C }],
  ],
  [
    "files of which nobody knows the commit are left alone",
    state(on("feature", B, { at: undefined }), on("feature", B)),
    changed,
    [stuck("main", "unknown_files")],
  ],
  [
    "a commit on old files is told of, and brought along like any other",
    state(on("feature", C, { blind: { commit: C, of: A, onto: B } }), on("feature", C, { at: B })),
    changed,
    [{ kind: "warn", tree: "main", commit: C, of: A, onto: B }, fastForward("worktree", B, C)],
  ],
  // Missing trees and branches.
  ["a removed worktree ends it", state(on("feature"), "gone"), changed, [end("worktree_gone")]],
  ["a locked worktree that is away is waited for", state(on("feature"), "away"), changed, []],
  [
    "a deleted branch ends it",
    state({ ...on("feature"), head: undefined, at: A }, on("feature")),
    changed,
    [end("branch_gone")],
  ],
  // Requests.
  [
    "turned on, the main tree joins the branch",
    state(on("main"), on("feature", B), undefined),
    enable,
    [checkOut("main", "feature"), remember("feature")],
  ],
  [
    "turned on where both share the branch, the main tree is brought along",
    state(on("feature", B, { at: A }), on("feature", B), undefined),
    enable,
    [fastForward("main", A, B), remember("feature")],
  ],
  [
    "turned on for another worktree, the main tree catches up with the one before first",
    state(on("feature", B, { at: A }), on("other", C)),
    enable,
    [fastForward("main", A, B), checkOut("main", "other"), remember("other")],
  ],
  [
    "turned on, a main tree on no branch joins if its commit is on one",
    state(detached(A, { isKept: true }), on("feature"), undefined),
    enable,
    [checkOut("main", "feature"), remember("feature")],
  ],
  [
    "turned on, a main tree stays with commits that are on no branch",
    state(detached(), on("feature"), undefined),
    enable,
    [stuck("main", "own_commits")],
  ],
  [
    "turned off, the main tree lets go of a shared branch",
    state(on("feature"), on("feature")),
    disable,
    [{ kind: "release", commit: A }, end("asked")],
  ],
  [
    "turned off before it was brought along, it stays at what its files are of",
    state(on("feature", B, { at: A }), on("feature", B)),
    disable,
    [{ kind: "release", commit: A }, end("asked")],
  ],
  [
    "turned off on a branch of its own, the main tree stays on it",
    state(on("main"), on("feature")),
    disable,
    [end("asked")],
  ],
  [
    "turned off while the worktree is away, the main tree lets go of the shared branch",
    state(on("feature"), "away"),
    disable,
    [{ kind: "release", commit: A }, end("asked")],
  ],
  [
    "turned off without a worktree, nothing else happens",
    state(on("feature"), "gone"),
    disable,
    [end("asked")],
  ],
];

describe("follow mode's rules", () => {
  test.each(RULES)("%s", (_, before, event, actions) => {
    expect(decide(before, event)).toEqual(actions);
  });

  test("repeated decisions reach a state without further actions", () => {
    for (const [name, before, event] of RULES) {
      let now = before;
      let rounds = 0;
      for (let todo = decide(now, event); isToDo(todo); todo = decide(now, changed)) {
        now = todo.reduce(done, now);
        rounds += 1;
        expect(rounds, name).toBeLessThan(4);
      }
    }
  });
});

/** Whether actions remain: "end" and "stuck" lead to no further ones. */
function isToDo(actions: readonly Action[]): boolean {
  return actions.length > 0 && !actions.some(({ kind }) => kind === "end" || kind === "stuck");
}
