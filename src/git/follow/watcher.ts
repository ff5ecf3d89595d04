// Sees in git's own files what no hook tells: a reset, an amended commit's end, a rebase, a worktree that has gone.
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { folderIdentity } from "../facts/folder-identity.ts";
import { FOLLOW_SETTLE_MS } from "../git-limits.ts";
import { UNFINISHED_MARKS } from "./unfinished-work.ts";

/** Where the files of a followed repository are that change with it. */
export type WatchedPlaces = {
  readonly commonDir: string;
  /** Of the main tree, and of the worktree; the latter `undefined` while it is away. */
  readonly gitDirs: readonly string[];
  /** The branch that both are on. */
  readonly branch: string | undefined;
};

const OF_A_TREE = new Set(["HEAD", "packed-refs", "worktrees", ...UNFINISHED_MARKS]);

/** Reports once for many changes, FOLLOW_SETTLE_MS after the first of them. At most eight folders are watched. */
export class FollowWatch implements Disposable {
  readonly #watchers: FSWatcher[] = [];
  /** Which folder was at each place. */
  readonly #folders = new Map<string, string | undefined>();
  readonly #onChange: () => void;
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;

  /** `caresForIndex`: whether what is staged or not may make a difference now. */
  constructor(
    { commonDir, gitDirs, branch }: WatchedPlaces,
    { onChange, caresForIndex }: { readonly onChange: () => void; readonly caresForIndex: () => boolean },
  ) {
    this.#onChange = onChange;
    for (const gitDir of new Set([commonDir, ...gitDirs])) {
      this.#watch(gitDir, (name) => OF_A_TREE.has(name) || (name === "index" && caresForIndex()));
      this.#watch(join(gitDir, "logs"), (name) => name === "HEAD");
    }
    this.#watch(join(commonDir, "worktrees"), () => true);
    if (branch === undefined) return;
    const ref = join(commonDir, "refs", "heads", branch);
    this.#watch(dirname(ref), (name) => !name.endsWith(".lock"));
  }

  /** Whether it sees what is at its places now: another folder may be there, or one where there was none. */
  get isWhole(): boolean {
    return !this.#isLost && [...this.#folders].every(([path, folder]) => folderIdentity(path) === folder);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch(folder: string, matters: (name: string) => boolean): void {
    this.#folders.set(folder, folderIdentity(folder));
    try {
      const watcher = watch(folder, { persistent: false }, (kind, name) => {
        // What happens to the folder itself comes with its own name.
        const isLost = kind === "rename" && name === basename(folder);
        this.#isLost ||= isLost;
        if (isLost || name === null || matters(name)) this.#changed();
      });
      // A folder that is removed ends its own watch.
      watcher.on("error", () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // No such folder: a repository without logs, or without linked worktrees. The hooks tell all the same.
    }
  }

  #changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#onChange();
    }, FOLLOW_SETTLE_MS);
    this.#timer.unref();
  }
}
