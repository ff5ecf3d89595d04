import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
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
   * From now on these and no others; a folder may be named more than once. `places` is asked again as long as one of
   * them is new, as they may depend on what there is. Returns whether one is new: what happened in it before was not
   * seen.
   */
  want(places: () => Iterable<WatchedFolder>): boolean {
    let isNew = false;
    while (!this.#isOver && this.#want(places())) isNew = true;
    return isNew;
  }

  [Symbol.dispose](): void {
    this.want(() => []);
    this.#isOver = true;
  }

  #want(folders: Iterable<WatchedFolder>): boolean {
    const wanted = Map.groupBy(folders, ({ path }) => path);
    for (const [path, watched] of [...this.#watched]) {
      // Whether one is another by now its parent tells; where that is not watched, we look.
      const isHere = wanted.has(dirname(path)) || watched.identity === identityOf(path);
      if (!wanted.has(path) || !isHere) this.#end(path);
    }
    this.#isComplete = true;
    let isNew = false;
    for (const [path, named] of wanted) {
      const matters = named.map((folder) => folder.matters);
      const known = this.#watched.get(path);
      if (known !== undefined) known.matters = matters;
      else if (this.#begin(path, matters)) isNew = true;
    }
    return isNew;
  }

  #begin(path: string, matters: Watched["matters"]): boolean {
    try {
      const identity = identityOf(path);
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
    if (kind === "rename" && typeof name === "string") this.#end(join(path, name));
    // What happens to the folder itself comes with its own name: it may be gone, or be another one by now.
    if (name === basename(path)) this.#lost(path, watched);
    else if (typeof name !== "string" || watched.matters.some((matters) => matters(name))) this.#onChange();
  }

  #lost(path: string, watched: Watched): void {
    if (this.#watched.get(path) !== watched) return;
    this.#end(path);
    this.#onChange();
  }

  #end(path: string): void {
    this.#watched.get(path)?.watcher.close();
    if (this.#watched.delete(path)) this.#quota.release();
  }
}

/** `undefined`: there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
