// Where it shows that what is known of a working tree may be true no longer.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Repository } from "../repository.ts";
import type { WatchedFolder } from "./folder-watches.ts";

/** Short names of the refs that its facts depend on. */
export type FactRefs = { readonly branch: string | undefined; readonly upstream: string | undefined };

/** Of a working tree's own git directory: a git command that changes where it stands writes one of these. */
const OF_TREE = new Set(["HEAD", "index", "config.worktree", "FETCH_HEAD", "MERGE_HEAD", "logs"]);
/** Of the directory that all working trees share. */
const OF_ALL = new Set(["packed-refs", "config", "refs", "reftable", "FETCH_HEAD"]);

/** Folders of a working tree's git, at most nine. Files in the working tree itself are not among them. */
export function factPlaces(repository: Repository, { branch, upstream }: FactRefs): readonly WatchedFolder[] {
  const { root, gitDir, commonDir } = repository;
  const refs = [
    ...(branch === undefined ? [] : [`heads/${branch}`]),
    // Which of the two it is the short name does not tell.
    ...(upstream === undefined ? [] : [`heads/${upstream}`, `remotes/${upstream}`]),
  ];
  return [
    { path: root, matters: (name) => name === ".git" },
    { path: gitDir, matters: (name) => OF_TREE.has(name) },
    { path: join(gitDir, "logs"), matters: (name) => name === "HEAD" },
    { path: commonDir, matters: (name) => OF_ALL.has(name) },
    { path: join(commonDir, "reftable"), matters: () => true },
    ...refs.map((ref) => refPlace(join(commonDir, "refs"), ref)),
  ];
}

/** A folder that lacks a repository so far: where one would begin. */
export function beginningPlaces(folder: string): readonly WatchedFolder[] {
  const { path, next } = nearest(folder);
  if (next !== undefined) return [{ path, matters: (name) => name === next }];
  const parts = new Set(["HEAD", "objects", "refs", "config"]);
  return [
    { path, matters: (name) => name === ".git" || parts.has(name) },
    { path: join(path, ".git"), matters: (name) => parts.has(name) },
  ];
}

/** A packed ref has no file, and perhaps no folder: then the nearest that there is. */
function refPlace(top: string, ref: string): WatchedFolder {
  const { path, next } = nearest(join(top, dirname(ref)));
  const name = next ?? basename(ref);
  return { path, matters: (changed) => changed === name };
}

/** The nearest folder that there is, itself included, and the name that is lacking in it. */
function nearest(folder: string): { readonly path: string; readonly next: string | undefined } {
  let path = folder;
  let next: string | undefined;
  while (!existsSync(path) && dirname(path) !== path) {
    next = basename(path);
    path = dirname(path);
  }
  return { path, next };
}
