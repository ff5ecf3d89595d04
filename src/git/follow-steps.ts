// What follow mode does to a tree, one step at a time. Each is refused whole, or done whole: nothing that is not in a
// commit is ever overwritten, be it staged, changed, new, or ignored by git.
import { setTimeout as pause } from "node:timers/promises";
import { branchRef } from "./branch-name.ts";
import { commitOf } from "./branch-start.ts";
import { JOINED, PARKED_REF } from "./follow-facts.ts";
import { inTheWay, type WayBlock } from "./follow-way.ts";
import type { Git, GitRun } from "./git.ts";
import { gitError } from "./git-error.ts";
import { FOLLOW_LOCK_WAIT_MS } from "./git-limits.ts";

/** Why a step was not done, in git's words or ours. */
export type Refusal = WayBlock;

const LOCKED = /index\.lock': File exists/;
const FIRST_LOCK_PAUSE_MS = 20;

/**
 * Files and index of a tree from one commit of its branch to another, by git's two-tree merge: local edits stay, or it
 * is refused. While it was at it the branch may have gone on: so does this.
 */
export async function bring(
  git: Git,
  move: { branch: string; from: string; to: string },
): Promise<Refusal | undefined> {
  let { from, to } = move;
  for (;;) {
    const refusal = await mergeTrees(git, from, to);
    if (refusal !== undefined) {
      await park(git, move.branch, from);
      return refusal;
    }
    // Written only while the branch is there still: else this step would hide the next.
    const noted = await git.tryWrite(["update-ref", "-m", "ttyhq: brought along", "HEAD", to, to]);
    if (noted.code === 0) return undefined;
    const now = await tipOf(git, move.branch);
    // Somebody switched at this moment: what was changed for the old branch is changed back.
    if (now === undefined) return await mergeTrees(git, to, from);
    if (now === to) throw gitError("update-ref", noted);
    [from, to] = [to, now];
  }
}

/** Whether `bring` would be done; changes nothing. */
export async function canBring(git: Git, from: string, to: string): Promise<Refusal | undefined> {
  return await inTheWay(git, from, to);
}

/** Onto a branch that another tree is on as well. Refused where local edits or files are in the way. */
export async function join(git: Git, branch: string): Promise<Refusal | undefined> {
  const commit = await commitOf(git, branchRef(branch));
  if (commit === undefined) return { why: `there is no branch ${branch} any more`, files: [] };
  const refusal = await detach(git, commit);
  if (refusal !== undefined) return refusal;
  // Not by one checkout, for which git logs the branch as it is at its end: while files are written it may move.
  await git.write("symbolic-ref", "-m", JOINED, "HEAD", branchRef(branch));
  const now = await commitOf(git, branchRef(branch));
  if (now === undefined) {
    await git.write("update-ref", "--no-deref", "HEAD", commit);
    return { why: `there is no branch ${branch} any more`, files: [] };
  }
  await unpark(git);
  return now === commit ? undefined : await bring(git, { branch, from: commit, to: now });
}

/** To a commit without a branch, as the other tree did. */
export async function detach(git: Git, commit: string): Promise<Refusal | undefined> {
  const block = await inTheWay(git, "HEAD", commit);
  if (block !== undefined) return block;
  const before = await git.try("rev-parse", "--quiet", "--verify", PARKED_REF);
  await git.write("update-ref", PARKED_REF, commit);
  const run = await checkout(git, "--detach", commit, "--");
  // A hook's exit code becomes that of the checkout, which is done all the same.
  const isThere = (await branchOf(git)) === undefined && (await commitOf(git, "HEAD")) === commit;
  if (run.code === 0 || isThere) return undefined;
  const old = before.stdout.trim();
  await (old === "" ? unpark(git) : git.write("update-ref", PARKED_REF, old));
  return refusalOf(run);
}

/**
 * HEAD says the commit that the files are of, and no branch any more: no file is touched, and what is committed there
 * takes nothing of the branch back.
 */
export async function park(git: Git, branch: string, commit: string): Promise<void> {
  if ((await branchOf(git)) !== branch) return;
  await git.write("update-ref", PARKED_REF, commit);
  await git.write("update-ref", "--no-deref", "-m", "ttyhq: left behind", "HEAD", commit);
}

/** The same for good. */
export async function part(git: Git, commit: string): Promise<void> {
  await git.write("update-ref", "--no-deref", "-m", "ttyhq: follow mode ended", "HEAD", commit);
}

export async function unpark(git: Git): Promise<void> {
  await git.tryWrite(["update-ref", "-d", PARKED_REF]);
}

/** By git's two-tree merge, which looks once more by itself. */
async function mergeTrees(git: Git, from: string, to: string): Promise<Refusal | undefined> {
  const block = await inTheWay(git, from, to);
  if (block !== undefined) return block;
  // Files that were only touched are no edits.
  await git.tryWrite(["update-index", "-q", "--refresh"]);
  const run = await unlocked(() =>
    git.tryWrite(["read-tree", "-m", "-u", "--no-recurse-submodules", from, to]),
  );
  return run.code === 0 ? undefined : refusalOf(run);
}

function checkout(git: Git, ...args: readonly string[]): Promise<GitRun> {
  const safe = ["--no-overwrite-ignore", "--no-recurse-submodules"];
  return unlocked(() => git.tryWrite(["-c", "advice.detachedHead=false", "checkout", ...safe, ...args]));
}

/** Another git at work in the same tree is waited for, for FOLLOW_LOCK_WAIT_MS. */
async function unlocked(run: () => Promise<GitRun>): Promise<GitRun> {
  const end = performance.now() + FOLLOW_LOCK_WAIT_MS;
  for (let ms = FIRST_LOCK_PAUSE_MS; ; ms *= 2) {
    const result = await run();
    if (result.code === 0 || !LOCKED.test(result.stderr) || performance.now() + ms > end) return result;
    await pause(ms);
  }
}

async function branchOf(git: Git): Promise<string | undefined> {
  const run = await git.try("symbolic-ref", "--quiet", "HEAD");
  return run.code === 0 ? run.stdout.trimEnd().replace(/^refs\/heads\//, "") : undefined;
}

async function tipOf(git: Git, branch: string): Promise<string | undefined> {
  if ((await branchOf(git)) !== branch) return undefined;
  const run = await git.try("rev-parse", "--quiet", "--verify", "HEAD");
  return run.code === 0 ? run.stdout.trim() : undefined;
}

function refusalOf(run: GitRun): Refusal {
  if (LOCKED.test(run.stderr)) return { why: "another git command is at work there", files: [] };
  const listed = [...run.stderr.matchAll(/^\t(.+)$/gm)];
  const named = [...run.stderr.matchAll(/^error: (?:Entry|Untracked working tree file) '(.+)' /gm)];
  const files = [...listed, ...named].map(([, file = ""]) => file);
  if (files.length > 0) return { why: "changes that are not committed are in the way", files };
  return { why: gitError("", run).message.replace(/^git : /, ""), files: [] };
}
