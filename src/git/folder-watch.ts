import { type FSWatcher, statSync, watch } from "node:fs";
import { basename } from "node:path";
import { isErrno } from "../lib/fs/atomic-file.ts";

/** A folder, and which of the names directly in it are watched. */
export type WatchedFolder = { readonly path: string; readonly matters: (name: string) => boolean };

export type FolderWatchOptions = {
  readonly onChange: () => void;
  /** From the first change to its report. */
  readonly settleMs: number;
  /** The system has no watches left. */
  readonly onExhausted?: (error: unknown) => void;
};

/** A user's watches, and open files. */
const EXHAUSTED = ["ENOSPC", "EMFILE", "ENFILE"];

/**
 * Watches folders, not recursively, and reports several changes at once. Unwatchable folders are skipped: callers need
 * a fallback.
 */
export class FolderWatch implements Disposable {
  readonly #options: FolderWatchOptions;
  readonly #watchers: FSWatcher[] = [];
  /** By path, when the watch began. */
  readonly #identities = new Map<string, string | undefined>();
  #isStale = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(folders: readonly WatchedFolder[], options: FolderWatchOptions) {
    this.#options = options;
    for (const folder of folders) this.#watch(folder);
  }

  /** Whether the paths still lead to the same folders. */
  get isCurrent(): boolean {
    return (
      !this.#isStale && [...this.#identities].every(([path, identity]) => folderIdentity(path) === identity)
    );
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch({ path, matters }: WatchedFolder): void {
    const identity = folderIdentity(path);
    this.#identities.set(path, identity);
    if (identity === undefined) return;
    try {
      const watcher = watch(path, { persistent: false }, (kind, name) => {
        // A folder's own removal or move is reported with its own name.
        const isMoved = kind === "rename" && name === basename(path);
        this.#isStale ||= isMoved;
        if (isMoved || name === null || matters(name)) this.#changed();
      });
      watcher.on("error", () => watcher.close());
      this.#watchers.push(watcher);
    } catch (error) {
      if (EXHAUSTED.some((code) => isErrno(error, code))) this.#options.onExhausted?.(error);
    }
  }

  #changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#options.onChange();
    }, this.#options.settleMs);
    this.#timer.unref();
  }
}

/** `undefined`: there is no folder, or it is not accessible. */
function folderIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
