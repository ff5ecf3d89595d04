import { type FSWatcher, statSync, watch } from "node:fs";
import { basename } from "node:path";
import { isErrno } from "../lib/fs/atomic-file.ts";

/** A folder, and which of the names directly in it are watched. */
export type WatchedFolder = { readonly path: string; readonly matters: (name: string) => boolean };

type FolderWatchOptions = {
  readonly onChange: () => void;
  /** From the first change to its report. */
  readonly settleMs: number;
  /** The system has no watches left. */
  readonly onExhausted?: (error: unknown) => void;
};

/**
 * Watches folders, not recursively, and reports several changes at once. Unwatchable folders are skipped: callers need
 * a fallback.
 */
export class FolderWatch implements Disposable {
  readonly #options: FolderWatchOptions;
  readonly #watchers: FSWatcher[] = [];
  #folders = new Map<string, readonly WatchedFolder[]>();
  #key = "[]";
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Watches these folders only. Returns whether watches have begun: earlier changes were not seen. */
  set(folders: readonly WatchedFolder[]): boolean {
    if (this.#isOver) return false;
    this.#folders = Map.groupBy(folders, ({ path }) => path);
    const key = JSON.stringify([...this.#folders.keys()].map((path) => [path, folderIdentity(path)]));
    if (key === this.#key) return false;
    this.#close();
    this.#key = key;
    for (const path of this.#folders.keys()) this.#watch(path);
    return folders.length > 0;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#close();
  }

  #close(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  #watch(path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, (kind, name) => {
        // A folder's own removal or move is reported with its own name.
        const isMoved = kind === "rename" && name === basename(path);
        if (isMoved) this.#key = "";
        if (isMoved || name === null || this.#folders.get(path)?.some(({ matters }) => matters(name)))
          this.#changed();
      });
      watcher.on("error", () => watcher.close());
      this.#watchers.push(watcher);
    } catch (error) {
      // A user's watches, and open files.
      if (isErrno(error, "ENOSPC", "EMFILE", "ENFILE")) this.#options.onExhausted?.(error);
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
