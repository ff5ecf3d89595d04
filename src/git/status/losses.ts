// What is lost when a worktree is removed. Its branch and the stashes of the repository stay.
import { MAX_LISTED_LOSSES } from "../../protocol/limits.ts";
import type { WorktreeLosses } from "../../protocol/schemas/git.ts";
import type { Git } from "../git.ts";

/** `git`: at the root of the worktree. */
export async function readLosses(git: Git): Promise<WorktreeLosses> {
  const untracked = ["--untracked-files=normal", "--ignored=traditional"];
  const [status, unpushed] = await Promise.all([
    git.read("status", "--porcelain", "--no-renames", "-z", ...untracked),
    countUnpushed(git),
  ]);
  return { ...parseLosses(status), unpushed };
}

/** Parses `git status --porcelain --no-renames -z --ignored`. */
function parseLosses(status: string): Omit<WorktreeLosses, "unpushed"> {
  const files = status
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => ({ path: line.slice(3), kind: kindOf(line) }));
  const count = (kind: string): number => files.filter((file) => file.kind === kind).length;
  return {
    ...{ changed: count("changed"), untracked: count("untracked"), ignored: count("ignored") },
    files: files.slice(0, MAX_LISTED_LOSSES),
  };
}

function kindOf(line: string): WorktreeLosses["files"][number]["kind"] {
  if (line.startsWith("??")) return "untracked";
  return line.startsWith("!!") ? "ignored" : "changed";
}

/** `undefined` without remote-tracking branches, and before the first commit. */
async function countUnpushed(git: Git): Promise<number | undefined> {
  const remotes = await git.read("for-each-ref", "--count=1", "--format=%(refname)", "--", "refs/remotes/");
  if (remotes === "") return undefined;
  const { stdout, code } = await git.try("rev-list", "--count", "HEAD", "--not", "--remotes", "--");
  return code === 0 ? Number(stdout) : undefined;
}
