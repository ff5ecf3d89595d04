import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "../git.ts";

/** Paths for one `git ls-files`. */
const BATCH = 200;

/** The first obstacle to moving a tree from one commit to the other. */
export async function findObstacle(git: Git, from: string, to: string): Promise<Refusal | undefined> {
  const changes = await changesBetween(git, from, to);
  if (changes.length === 0) return undefined;
  const added = changes.filter(({ isAdded }) => isAdded).map(({ path }) => path);
  const collides = colliding(added);
  const edits = await changedFiles(git, from, to);
  const moved = new Set(changes.map(({ path }) => path));
  const changed = [...edits].filter((path) => moved.has(path) || collides(path));
  if (changed.length > 0) return { why: "changes that are not committed are in the way", files: changed };
  const gone = changes.flatMap(({ path, isModule }) => (isModule && collides(path) ? [path] : []));
  const submodules = await populated(git, gone);
  if (submodules.length > 0)
    return { why: "submodules that are checked out are in the way", files: submodules };
  const files = await untrackedObstacles(git, added);
  return files.length === 0 ? undefined : { why: "files that git does not track are in the way", files };
}

/** Why a step is refused, and the files in its way, relative to the tree's top. */
export type Refusal = { readonly why: string; readonly files: readonly string[] };

/** `isAdded`: the path becomes a file or submodule. `isModule`: it was a submodule and is not one any more. */
type Change = { readonly path: string; readonly isAdded: boolean; readonly isModule: boolean };

/** Modes in git's raw format: of no file, and of a submodule. */
const NO_MODE = "000000";
const MODULE_MODE = "160000";

async function changesBetween(git: Git, from: string, to: string): Promise<readonly Change[]> {
  const fields = (await git.read("diff-tree", "-r", "-z", "--no-renames", from, to, "--")).split("\0");
  const changes: Change[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [modes = "", path = ""] = [fields[at], fields[at + 1]];
    const [before, after] = modes.slice(1).split(" ");
    const isModule = before === MODULE_MODE && after !== MODULE_MODE;
    changes.push({ path, isModule, isAdded: after !== NO_MODE && (isModule || before === NO_MODE) });
  }
  return changes;
}

/** Whether a path is one of these, above, or below one: a tree cannot have both. git's merge deletes the path. */
function colliding(paths: readonly string[]): (path: string) => boolean {
  const all = new Set(paths);
  const above = new Set(paths.flatMap(foldersOf));
  return (path) => all.has(path) || above.has(path) || foldersOf(path).some((folder) => all.has(folder));
}

/** The folders that a path is in, the outermost first. */
function foldersOf(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Those of the submodules that have files. git neither asks for edits there nor for commits that no other place has. */
async function populated(git: Git, submodules: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    submodules.map(async (path) => {
      const names = await readdir(join(git.cwd, path)).catch(() => []);
      return names.length > 0 ? [path] : [];
    }),
  );
  return found.flat();
}

/** Untracked files in the way of added files. git's merge would overwrite the ignored ones, such as `.env`. */
async function untrackedObstacles(git: Git, added: readonly string[]): Promise<readonly string[]> {
  const standing = new Map<string, Kind>();
  for (const path of added) {
    for (const place of [...foldersOf(path), path]) {
      const kind = standing.get(place) ?? (await kindOf(join(git.cwd, place)));
      standing.set(place, kind);
      if (kind !== "folder") break;
    }
  }
  const folders = added.filter((path) => standing.get(path) === "folder");
  const files = [...standing].flatMap(([path, kind]) => (kind === "other" ? [path] : []));
  // Files in a repository inside this one are not tracked either, but git does not list them.
  const tracked = new Set(await listed(git, "--cached", files));
  return [...(await listed(git, "--others", folders)), ...files.filter((path) => !tracked.has(path))];
}

/** Files that are edited in the tree, or staged as neither commit has them. Takes no lock, unlike an attempt. */
async function changedFiles(git: Git, from: string, to: string): Promise<ReadonlySet<string>> {
  const staged = async (commit: string): Promise<ReadonlySet<string>> =>
    new Set(
      names(await git.read("diff-index", "--cached", "-z", "--no-renames", "--name-only", commit, "--")),
    );
  const [fromStaged, toStaged, edited] = await Promise.all([staged(from), staged(to), editedIn(git)]);
  return edited.union(fromStaged.intersection(toStaged));
}

/** With the repository's filters: without them their files would appear changed. */
async function editedIn(git: Git): Promise<ReadonlySet<string>> {
  const plain = ["--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames"];
  return new Set(names(await git.write("--no-optional-locks", "diff", ...plain, "--name-only", "-z", "--")));
}

type Kind = "nothing" | "folder" | "other";

async function kindOf(path: string): Promise<Kind> {
  return await lstat(path).then(
    (found) => (found.isDirectory() ? "folder" : "other"),
    () => "nothing",
  );
}

async function listed(
  git: Git,
  kind: "--cached" | "--others",
  paths: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let start = 0; start < paths.length; start += BATCH) {
    const batch = paths.slice(start, start + BATCH).map((path) => `:(top,literal)${path}`);
    found.push(...names(await git.read("ls-files", "-z", kind, "--", ...batch)));
  }
  return found;
}

function names(text: string): readonly string[] {
  return text.split("\0").filter((name) => name !== "");
}
