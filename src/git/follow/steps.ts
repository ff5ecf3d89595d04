// The steps of follow mode in a tree. A step is refused or completed as a whole: it never overwrites anything that is
// not in a commit, be it staged, changed, new, or ignored by git.
import { setTimeout as pause } from "node:timers/promises";
import type { Git } from "../git.ts";
import { gitError } from "../git-error.ts";
import { FOLLOW_LOCK_WAIT_MS } from "../git-limits.ts";
import type { GitRun } from "../git-process.ts";
import { branchRef, commitOf, currentBranch } from "../worktrees/branches.ts";
import { findObstacle, type Refusal } from "./obstacles.ts";
import { CHECKED_OUT, DETACHED_REF } from "./state.ts";
import { unfinishedWork } from "./unfinished-work.ts";

const LOCKED = /(?:index|HEAD)\.lock': File exists/;
const FIRST_LOCK_PAUSE_MS = 20;
/** Enough to include concurrent steps of the user. */
const REFLOG_ENTRIES = 6;
const COMMITTED_MEANWHILE = refused("a commit was made there on no branch at that moment");

/**
 * Moves files and index of a tree to a later commit of its branch by git's two-tree merge, which keeps local edits or
 * refuses. Continues while the branch moves on.
 */
export async function fastForward(
  git: Git,
  move: { branch: string; from: string; to: string },
): Promise<Refusal | undefined> {
  let { from, to } = move;
  for (;;) {
    const refusal = await mergeTrees(git, from, to);
    if (refusal !== undefined) {
      await detachInPlace(git, move.branch, { from, to });
      return refusal;
    }
    // Fails if the branch has moved on, which the next round handles.
    const noted = await git.tryWrite(["update-ref", "-m", "ttyhq: brought along", "HEAD", to, to]);
    if (noted.code === 0) return undefined;
    const isStillThere = (await currentBranch(git)) === move.branch;
    const now = isStillThere ? await commitOf(git, "HEAD") : undefined;
    // The tree was switched to another branch meanwhile: undo the move.
    if (now === undefined) return await mergeTrees(git, to, from);
    if (now === to) throw gitError("update-ref", noted);
    [from, to] = [to, now];
  }
}

/**
 * Checks out a branch that another tree has checked out. Refused for conflicting edits. `left`: the commit of a
 * detached tree; later commits there are kept and refuse the checkout.
 */
export async function checkOut(
  git: Git,
  branch: string,
  left: string | undefined,
): Promise<Refusal | undefined> {
  const noBranch = refused(`there is no branch ${branch} any more`);
  const commit = await commitOf(git, branchRef(branch));
  if (commit === undefined) return noBranch;
  const refusal = await detach(git, commit, left);
  if (refusal !== undefined) return refusal;
  // Not by a checkout: it would log the branch as it is at the end, and the branch may move meanwhile.
  await git.write("symbolic-ref", "-m", CHECKED_OUT, "HEAD", branchRef(branch));
  const made = await headBefore(git, ({ action }, at) => action === CHECKED_OUT && at === 0);
  if (made !== undefined && made !== commit) {
    await git.write("update-ref", "--no-deref", "HEAD", made);
    return COMMITTED_MEANWHILE;
  }
  const now = await commitOf(git, branchRef(branch));
  if (now === undefined) {
    await git.write("update-ref", "--no-deref", "HEAD", commit);
    return noBranch;
  }
  await forgetDetached(git);
  return now === commit ? undefined : await fastForward(git, { branch, from: commit, to: now });
}

/** Why `checkOut` and `detach` would be refused; changes nothing. */
export async function canCheckOut(git: Git, from: string, to: string): Promise<Refusal | undefined> {
  const [work] = await unfinishedWork(git);
  if (work !== undefined) return refused(`${work.name} is under way there`);
  return await findObstacle(git, from, to);
}

/** Checks out a commit without a branch. `left`: see `checkOut`. */
export async function detach(
  git: Git,
  commit: string,
  left: string | undefined,
): Promise<Refusal | undefined> {
  const block = await canCheckOut(git, "HEAD", commit);
  if (block !== undefined) return block;
  // A checkout that moves nothing leaves no entry in the reflog.
  if (commit === left) return (await commitOf(git, "HEAD")) === left ? undefined : COMMITTED_MEANWHILE;
  const before = await commitOf(git, DETACHED_REF);
  await git.write("update-ref", DETACHED_REF, commit);
  const run = await runCheckout(git, "--detach", commit, "--");
  // A failing hook makes the exit code of a successful checkout non-zero.
  const isThere = (await currentBranch(git)) === undefined && (await commitOf(git, "HEAD")) === commit;
  const made = left === undefined ? undefined : await headBefore(git, ({ head }) => head === commit);
  const isMissed = made !== undefined && made !== left;
  if ((run.code === 0 || isThere) && !isMissed) return undefined;
  const back = isMissed ? await runCheckout(git, "--detach", made, "--") : run;
  await (before === undefined ? forgetDetached(git) : git.write("update-ref", DETACHED_REF, before));
  return isMissed && back.code === 0 ? COMMITTED_MEANWHILE : refusalOf(back);
}

/** HEAD before its last step of that kind; `undefined`: not in the reflog. */
async function headBefore(
  git: Git,
  isStep: (step: { readonly head: string; readonly action: string }, at: number) => boolean,
): Promise<string | undefined> {
  const count = `-${REFLOG_ENTRIES}`;
  const log = await git.try("log", "--walk-reflogs", count, "--format=%H%x09%gs", "HEAD", "--");
  const steps = log.stdout.split("\n").map((line) => {
    const [head = "", action = ""] = line.split("\t");
    return { head, action };
  });
  const at = steps.findIndex(isStep);
  return at === -1 ? undefined : steps[at + 1]?.head || undefined;
}

/**
 * Detaches HEAD at the commit of the files: no file changes, and a commit there reverts nothing on the branch. Throws if
 * the branch is not at `to` any more: the files may be those of a commit that was made in this tree meanwhile.
 */
async function detachInPlace(
  git: Git,
  branch: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  if ((await currentBranch(git)) !== branch) return;
  await git.write("update-ref", DETACHED_REF, from);
  const run = await git.tryWrite(["update-ref", "--no-deref", "-m", "ttyhq: left behind", "HEAD", from, to]);
  if (run.code === 0) return;
  await forgetDetached(git);
  throw gitError("update-ref", run);
}

/** The same at the end of follow mode, unless the tree has left the branch meanwhile. */
export async function release(git: Git, branch: string | undefined, commit: string): Promise<void> {
  if ((await currentBranch(git)) !== branch) return;
  await git.write("update-ref", "--no-deref", "-m", "ttyhq: follow mode ended", "HEAD", commit);
}

export async function forgetDetached(git: Git): Promise<void> {
  await git.tryWrite(["update-ref", "-d", DETACHED_REF]);
}

/** By git's two-tree merge, which checks for conflicts again. */
async function mergeTrees(git: Git, from: string, to: string): Promise<Refusal | undefined> {
  const block = await findObstacle(git, from, to);
  if (block !== undefined) return block;
  // Touched files are not edits.
  await git.tryWrite(["update-index", "-q", "--refresh"]);
  const run = await unlocked(() =>
    git.tryWrite(["read-tree", "-m", "-u", "--no-recurse-submodules", from, to]),
  );
  return run.code === 0 ? undefined : refusalOf(run);
}

function runCheckout(git: Git, ...args: readonly string[]): Promise<GitRun> {
  const safe = ["--no-overwrite-ignore", "--no-recurse-submodules"];
  return unlocked(() => git.tryWrite(["-c", "advice.detachedHead=false", "checkout", ...safe, ...args]));
}

/** Waits up to FOLLOW_LOCK_WAIT_MS for another git command in the same tree. */
async function unlocked(run: () => Promise<GitRun>): Promise<GitRun> {
  const end = performance.now() + FOLLOW_LOCK_WAIT_MS;
  for (let ms = FIRST_LOCK_PAUSE_MS; ; ms *= 2) {
    const result = await run();
    if (result.code === 0 || !LOCKED.test(result.stderr) || performance.now() + ms > end) return result;
    await pause(ms);
  }
}

function refused(why: string): Refusal {
  return { why, files: [] };
}

function refusalOf(run: GitRun): Refusal {
  if (LOCKED.test(run.stderr)) return refused("another git command is at work there");
  const listed = [...run.stderr.matchAll(/^\t(.+)$/gm)];
  const named = [...run.stderr.matchAll(/^error: (?:Entry|Untracked working tree file) '(.+)' /gm)];
  const files = [...listed, ...named].map(([, file = ""]) => file);
  if (files.length > 0) return { why: "changes that are not committed are in the way", files };
  return refused(gitError("", run).message.replace(/^git : /, ""));
}
