import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { folderIdentity } from "./folder-identity.ts";
import type { WatchQuota } from "./watch-quota.ts";

/** A folder, and which of the names directly in it make a difference. */
export type WatchedFolder = { readonly path: string; readonly matters: (name: string) => boolean };

type Watched = {
  readonly watcher: FSWatcher;
  /** Which folder it is, whatever its path. */
  readonly identity: string | undefined;
  matters: readonly WatchedFolder["matters"][];
};

type Happened = { readonly kind: string; readonly name: string | Buffer | null };

const MAX_ROUNDS = 8;

/** Folders that are watched, each by itself and not with what is below; at most as many as the quota lets it have. */
export class FolderWatches implements Disposable {
  readonly #quota: WatchQuota;
  readonly #onChange: () => void;
  readonly #watched = new Map<string, Watched>();
  #isComplete = true;
  #isOver = false;

  constructor(options: { readonly quota: WatchQuota; readonly onChange: () => void }) {
    this.#quota = options.quota;
    this.#onChange = options.onChange;
  }

  /** Whether all that was wanted and exists is watched. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * From now on these and no others; a folder may be named more than once. `places` is asked again while one of them is
   * new, as they may depend on what there is; a few times, because somewhere folders may be others all the time. Returns
   * whether one is new: what happened in it before was not seen.
   */
  want(places: () => Iterable<WatchedFolder>): boolean {
    let rounds = 0;
    while (!this.#isOver && rounds < MAX_ROUNDS && this.#want(places())) rounds++;
    return rounds > 0;
  }

  [Symbol.dispose](): void {
    this.want(() => []);
    this.#isOver = true;
  }

  #want(folders: Iterable<WatchedFolder>): boolean {
    // What is above before what is below it: a watch tells of what happens after its beginning.
    const wanted = Map.groupBy([...folders].sort(byLength), ({ path }) => path);
    for (const path of [...this.#watched.keys()]) if (!wanted.has(path)) this.#end(path);
    this.#isComplete = true;
    let isNew = false;
    const kept = new Set<string>();
    for (const [path, named] of wanted) {
      const matters = named.map((folder) => folder.matters);
      // Whether a folder is another one by now, its parent tells; where that was not watched, we look.
      if (!kept.has(dirname(path)) && !this.#isSame(path)) this.#end(path);
      const known = this.#watched.get(path);
      if (known === undefined) isNew = this.#begin(path, matters) || isNew;
      else {
        known.matters = matters;
        kept.add(path);
      }
    }
    return isNew;
  }

  #isSame(path: string): boolean {
    const known = this.#watched.get(path);
    return known !== undefined && known.identity === folderIdentity(path);
  }

  #begin(path: string, matters: Watched["matters"]): boolean {
    try {
      const identity = folderIdentity(path);
      const watcher = this.#quota.take(() => watch(path, { persistent: false }));
      if (watcher === undefined) {
        this.#isComplete = false;
        return false;
      }
      const watched = { watcher, identity, matters };
      this.#watched.set(path, watched);
      watcher.on("change", (kind, name) => this.#happened(path, watched, { kind, name }));
      watcher.on("error", () => this.#lost(path, watched));
      return true;
    } catch (error) {
      // What is not there needs no watch; what we may not read is seen by nobody.
      if (!isAbsent(error)) this.#isComplete = false;
      return false;
    }
  }

  #happened(path: string, watched: Watched, { kind, name }: Happened): void {
    // A folder that a program stands in is not told of its own end, its parent is.
    const isEnd = kind === "rename" && typeof name === "string" && this.#end(join(path, name));
    // What happens to the folder itself comes with its own name: it may be gone, or be another one by now.
    if (name === basename(path)) this.#lost(path, watched);
    else if (isEnd || typeof name !== "string" || watched.matters.some((matters) => matters(name)))
      this.#onChange();
  }

  #lost(path: string, watched: Watched): void {
    if (this.#watched.get(path) !== watched) return;
    this.#end(path);
    this.#onChange();
  }

  /** Returns whether it was watched. */
  #end(path: string): boolean {
    this.#watched.get(path)?.watcher.close();
    const wasWatched = this.#watched.delete(path);
    if (wasWatched) this.#quota.release();
    return wasWatched;
  }
}

/** A folder's path is longer than that of what it is in. */
function byLength(one: WatchedFolder, other: WatchedFolder): number {
  return one.path.length - other.path.length;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
