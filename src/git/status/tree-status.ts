import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import { FolderWatch, type WatchedFolder } from "../folder-watch.ts";
import type { Git } from "../git.ts";
import { STATUS_PAUSE_FACTOR, STATUS_SETTLE_MS } from "../git-limits.ts";
import type { Repository } from "../repository.ts";
import { readTreeStatus, type TreeRead } from "./status.ts";

export type TreeStatusParts = {
  readonly repository: Repository;
  /** A git at the root that has read no config yet. */
  readonly git: () => Git;
  /** Shared by all working trees. */
  readonly semaphore: Pick<Semaphore, "take">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** The last folder has left. */
  readonly onEmpty: () => void;
  readonly onExhausted: (error: unknown) => void;
};

type Folder = { readonly isLive: boolean; refresh(notBeforeMs: number): void };
type Read = { readonly beganMs: number; readonly status: Promise<GitStatus> };

/** The git status of one working tree, read once for all folders in it. */
export class TreeStatus {
  readonly commonDir: string;
  readonly #parts: TreeStatusParts;
  readonly #folders = new Set<Folder>();
  /** The last read that has begun, and the one that waits for its turn. */
  #last: Read | undefined;
  #next: Promise<GitStatus> | undefined;
  /** The next read begins no earlier: git gets at most a fifth of a core for one tree. */
  #earliestMs = -Infinity;
  #watch: { readonly watch: FolderWatch; readonly key: string } | undefined;
  #refs: Pick<TreeRead, "branch" | "upstream"> = { branch: undefined, upstream: undefined };

  constructor(parts: TreeStatusParts) {
    this.#parts = parts;
    this.commonDir = parts.repository.commonDir;
  }

  enter(folder: Folder): void {
    this.#folders.add(folder);
  }

  leave(folder: Folder): void {
    this.#folders.delete(folder);
    this.watchIfLive();
    if (this.#folders.size === 0) this.#parts.onEmpty();
  }

  /** The tree has changed. */
  refresh(): void {
    for (const folder of this.#folders) if (folder.isLive) folder.refresh(this.#parts.now());
  }

  /** A status that git began to read at `notBeforeMs` or later. Rejects as `Git.read` does. */
  async read(notBeforeMs: number): Promise<GitStatus> {
    if (this.#last !== undefined && this.#last.beganMs >= notBeforeMs) return await this.#last.status;
    this.#next ??= this.#inTurn(this.#last?.status);
    return await this.#next;
  }

  /** Ends the watch where no program runs in the tree; the next read begins another one. Returns whether one does. */
  watchIfLive(): boolean {
    const isLive = [...this.#folders].some((folder) => folder.isLive);
    if (!isLive) this.#unwatch();
    return isLive;
  }

  async #inTurn(before: Promise<GitStatus> | undefined): Promise<GitStatus> {
    const { now, semaphore } = this.#parts;
    try {
      await before?.catch(() => undefined);
      if (this.#earliestMs > now()) await pause(this.#earliestMs - now(), undefined, { ref: false });
      return await semaphore.take(async () => {
        const beganMs = now();
        const status = this.#read();
        [this.#last, this.#next] = [{ beganMs, status }, undefined];
        return await status.finally(() => {
          this.#earliestMs = now() + STATUS_PAUSE_FACTOR * (now() - beganMs);
        });
      });
    } catch (error) {
      // Without a turn nothing has begun, and the next reader waits for another one.
      if (this.#last?.status === before) this.#next = undefined;
      throw error;
    }
  }

  async #read(): Promise<GitStatus> {
    const { git, repository } = this.#parts;
    this.#keepWatching();
    const at = git();
    let read = await readTreeStatus(at, repository);
    this.#refs = read;
    // The new places may have changed before their watch began.
    if (this.#keepWatching()) read = await readTreeStatus(at, repository);
    return read.status;
  }

  /** Returns whether the watch is a new one. */
  #keepWatching(): boolean {
    if (!this.watchIfLive()) return false;
    const folders = statusFolders(this.#parts.repository, this.#refs);
    const key = JSON.stringify(folders.map(({ path }) => path));
    if (this.#watch?.key === key && this.#watch.watch.isCurrent) return false;
    this.#unwatch();
    const { onExhausted } = this.#parts;
    const onChange = (): void => this.refresh();
    const watch = new FolderWatch(folders, { onChange, onExhausted, settleMs: STATUS_SETTLE_MS });
    this.#watch = { watch, key };
    return true;
  }

  #unwatch(): void {
    this.#watch?.watch[Symbol.dispose]();
    this.#watch = undefined;
  }
}

/** Files that git commands change; edits in the working tree do not change them. */
function statusFolders(
  { root, gitDir, commonDir }: Repository,
  { branch, upstream }: Pick<TreeRead, "branch" | "upstream">,
): readonly WatchedFolder[] {
  // The upstream may be a branch of this repository or of a remote.
  const refs = [
    ...(branch === undefined ? [] : [`refs/heads/${branch}`]),
    ...(upstream === undefined ? [] : [`refs/heads/${upstream}`, `refs/remotes/${upstream}`]),
  ].map((ref) => join(commonDir, ref));
  const isNoLock = (name: string): boolean => !name.endsWith(".lock");
  return [
    { path: root, matters: (name) => name === ".git" },
    ...[...new Set([gitDir, commonDir])].map((path) => ({ path, matters: isNoLock })),
    { path: join(gitDir, "logs"), matters: (name) => name === "HEAD" },
    ...refs.map((ref) => ({ path: dirname(ref), matters: (name: string) => name === basename(ref) })),
  ];
}
