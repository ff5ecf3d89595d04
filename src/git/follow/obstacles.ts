import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "../git.ts";

/** Paths for one `git ls-files`. */
const BATCH = 200;

/** The first obstacle to moving a tree from one commit to the other. */
export async function findObstacle(git: Git, from: string, to: string): Promise<Refusal | undefined> {
  const changed = await changedObstacles(git, from, to);
  if (changed.length > 0) return { why: "changes that are not committed are in the way", files: changed };
  const files = await untrackedObstacles(git, from, to);
  return files.length === 0 ? undefined : { why: "files that git does not track are in the way", files };
}

/** Why a step is refused, and the files in its way, relative to the tree's top. */
export type Refusal = { readonly why: string; readonly files: readonly string[] };

/** Untracked files in the way of files that `to` adds. git's merge would overwrite the ignored ones, such as `.env`. */
async function untrackedObstacles(git: Git, from: string, to: string): Promise<readonly string[]> {
  const added = await git.read(
    ...["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=A", "--name-only", from, to, "--"],
  );
  const standing = new Set<string>();
  const folders = new Map<string, Kind>();
  for (const path of names(added)) {
    const found = await standingAt(git.cwd, path, folders);
    if (found !== undefined) standing.add(found);
  }
  return await untracked(git, [...standing]);
}

/**
 * Files that differ between the commits and are edited in the tree, staged or not. Takes no lock, unlike an attempt.
 */
async function changedObstacles(git: Git, from: string, to: string): Promise<readonly string[]> {
  const moved = names(await git.read("diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to, "--"));
  if (moved.length === 0) return [];
  const staged = async (commit: string): Promise<ReadonlySet<string>> =>
    new Set(
      names(await git.read("diff-index", "--cached", "-z", "--no-renames", "--name-only", commit, "--")),
    );
  const [fromStaged, toStaged, edited] = await Promise.all([staged(from), staged(to), editedIn(git)]);
  return moved.filter((path) => edited.has(path) || (fromStaged.has(path) && toStaged.has(path)));
}

/** With the repository's filters: without them their files would appear changed. */
async function editedIn(git: Git): Promise<ReadonlySet<string>> {
  const plain = ["--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames"];
  return new Set(names(await git.write("--no-optional-locks", "diff", ...plain, "--name-only", "-z", "--")));
}

type Kind = "nothing" | "folder" | "other";

/** The path if a file exists there, or the first of its parents that is not a folder. */
async function standingAt(
  top: string,
  path: string,
  folders: Map<string, Kind>,
): Promise<string | undefined> {
  const parts = path.split("/");
  for (let length = 1; length < parts.length; length += 1) {
    const folder = parts.slice(0, length).join("/");
    const kind = folders.get(folder) ?? (await kindOf(join(top, folder)));
    folders.set(folder, kind);
    if (kind === "nothing") return undefined;
    if (kind === "other") return folder;
  }
  return (await kindOf(join(top, path))) === "nothing" ? undefined : path;
}

async function kindOf(path: string): Promise<Kind> {
  return await lstat(path).then(
    (found) => (found.isDirectory() ? "folder" : "other"),
    () => "nothing",
  );
}

async function untracked(git: Git, paths: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (let start = 0; start < paths.length; start += BATCH) {
    const batch = paths.slice(start, start + BATCH).map((path) => `:(top,literal)${path}`);
    found.push(...names(await git.read("ls-files", "-z", "--others", "--", ...batch)));
  }
  return found;
}

function names(text: string): readonly string[] {
  return text.split("\0").filter((name) => name !== "");
}
