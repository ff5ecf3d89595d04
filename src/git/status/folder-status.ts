import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { RetryTimer } from "../../lib/async/retry-timer.ts";
import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import { FolderWatch, type WatchedFolder } from "../folder-watch.ts";
import type { Git } from "../git.ts";
import { MAX_STATUS_RETRY_MS, STATUS_RETRY_MS, STATUS_SETTLE_MS } from "../git-limits.ts";
import { findRepository, type Repository, repositoryMark } from "../repository.ts";
import type { TreeRead } from "./status.ts";
import type { TreeStatus } from "./tree-status.ts";

export type FolderStatusParts = {
  /** A git in the folder that has read no config yet. */
  readonly gitAt: (cwd: string) => Git;
  readonly semaphore: Pick<Semaphore, "take">;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly treeOf: (repository: Repository) => TreeStatus;
  readonly onStatus: (cwd: string, status: GitStatus | undefined) => void;
  readonly onExhausted: (error: unknown) => void;
};

/** After any other error the status is read again. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["not_a_repository", "forbidden", "git_unavailable"]);

/** A folder with sessions, and the git status of the working tree that it is in. */
export class FolderStatus implements Disposable {
  readonly cwd: string;
  readonly #parts: FolderStatusParts;
  readonly #watch: FolderWatch;
  #isLive = false;
  #status: GitStatus | undefined;
  #found: { readonly mark: string; readonly tree: TreeStatus } | undefined;
  /** The status that is wanted, and the one that is known, began to be read at this time or later. */
  #wantedMs = -Infinity;
  #doneMs = -Infinity;
  #isReading = false;
  #isOver = false;
  /** Repeats a failed read: clients that rely on events do not ask again. */
  readonly #retry = new RetryTimer({
    ...{ firstMs: STATUS_RETRY_MS, maxMs: MAX_STATUS_RETRY_MS },
    retry: () => this.refresh(),
  });

  constructor(cwd: string, parts: FolderStatusParts) {
    this.cwd = cwd;
    this.#parts = parts;
    const { onExhausted } = parts;
    this.#watch = new FolderWatch({
      ...{ onExhausted, settleMs: STATUS_SETTLE_MS, onChange: () => this.refresh() },
    });
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get tree(): TreeStatus | undefined {
    return this.#found?.tree;
  }

  setLive(isLive: boolean): void {
    const isSame = isLive === this.#isLive;
    this.#isLive = isLive;
    if (!isLive) this.#watch.set([]);
    // While no program ran here nothing was watched.
    this.refresh(isSame ? 0 : this.#parts.now());
  }

  /** The status has to be one that git began to read at `notBeforeMs` or later. */
  refresh(notBeforeMs = this.#parts.now()): void {
    this.#wantedMs = Math.max(this.#wantedMs, notBeforeMs);
    if (!this.#isReading) void this.#read();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#retry[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#doneMs < this.#wantedMs && !this.#isOver) {
      const wantedMs = this.#wantedMs;
      await this.#readOnce(wantedMs);
      this.#doneMs = wantedMs;
    }
    this.#isReading = false;
  }

  async #readOnce(notBeforeMs: number): Promise<void> {
    const { cwd } = this;
    const known = this.#status;
    try {
      await this.#locate();
      const read = await this.#found?.tree.read(notBeforeMs);
      // If the repository was removed meanwhile, git has read the enclosing one.
      if (this.#found !== undefined && (await repositoryMark(cwd)) !== this.#found.mark)
        return this.refresh();
      this.#report(read?.status);
      if (this.#watches(read)) this.refresh();
      // Another repository may be about to replace the removed one.
      if (known !== undefined && read === undefined) this.#retry.start();
      else this.#retry.stop();
    } catch (error) {
      this.#found = undefined;
      if (this.#isOver) return;
      if (error instanceof ServiceError && FINAL.has(error.code)) {
        this.#report(undefined);
        if (known === undefined) return;
      } else if (!this.#retry.isStarted) this.#parts.log.warn({ cwd, error }, "git status not read");
      this.#retry.start();
    }
  }

  /** Asks git for the repository only where its place has changed. */
  async #locate(): Promise<void> {
    const { gitAt, semaphore, treeOf } = this.#parts;
    const mark = await repositoryMark(this.cwd);
    if (mark === this.#found?.mark) return;
    this.#found = undefined;
    const repository = mark && (await semaphore.take(() => findRepository(gitAt(this.cwd))));
    if (mark && repository) this.#found = { mark, tree: treeOf(repository) };
  }

  #report(status: GitStatus | undefined): void {
    if (this.#isOver || (this.#doneMs > -Infinity && isDeepStrictEqual(status, this.#status))) return;
    this.#status = status;
    this.#parts.onStatus(this.cwd, status);
  }

  /** Watches the files of that status. Returns whether the watch is a new one: they may have changed before. */
  #watches(read: TreeRead | undefined): boolean {
    const repository = this.#isLive && read && this.tree?.repository;
    return this.#watch.set(repository ? statusFolders(repository, read) : []);
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
    ...[gitDir, commonDir].map((path) => ({ path, matters: isNoLock })),
    { path: join(gitDir, "logs"), matters: (name) => name === "HEAD" },
    ...refs.map((ref) => ({ path: dirname(ref), matters: (name: string) => name === basename(ref) })),
  ];
}
