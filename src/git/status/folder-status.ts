import { isDeepStrictEqual } from "node:util";
import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import type { Git } from "../git.ts";
import { MAX_STATUS_RETRY_MS, STATUS_RETRY_MS } from "../git-limits.ts";
import { findRepository, type Repository, repositoryMark } from "../repository.ts";
import { RetryTimer } from "../retry-timer.ts";
import type { TreeStatus } from "./tree-status.ts";

export type FolderStatusParts = {
  readonly cwd: string;
  /** A git in the folder that has read no config yet. */
  readonly git: () => Git;
  readonly semaphore: Pick<Semaphore, "take">;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly treeOf: (repository: Repository) => TreeStatus;
  readonly onStatus: (status: GitStatus | undefined) => void;
};

/** After any other error the status is read again. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["not_a_repository", "forbidden", "git_unavailable"]);

/** A folder with sessions, and the git status of the working tree that it is in. */
export class FolderStatus implements Disposable {
  readonly cwd: string;
  readonly #parts: FolderStatusParts;
  #isLive = false;
  #status: GitStatus | undefined;
  #found: { readonly mark: string; readonly repository: Repository } | undefined;
  #tree: TreeStatus | undefined;
  /** How new the status has to be, and is. */
  #wantedMs = -Infinity;
  #doneMs = -Infinity;
  #isReading = false;
  #isOver = false;
  /** Repeats a failed read: clients that rely on events do not ask again. */
  readonly #retry = new RetryTimer({
    ...{ firstMs: STATUS_RETRY_MS, maxMs: MAX_STATUS_RETRY_MS },
    retry: () => this.refresh(this.#parts.now()),
  });

  constructor(parts: FolderStatusParts) {
    this.cwd = parts.cwd;
    this.#parts = parts;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  setLive(isLive: boolean): void {
    const isSame = isLive === this.#isLive;
    this.#isLive = isLive;
    this.#tree?.watchIfLive();
    // While no program ran here nothing was watched.
    this.refresh(isSame ? 0 : this.#parts.now());
  }

  /** The status has to be one that git began to read at `notBeforeMs` or later. */
  refresh(notBeforeMs: number): void {
    this.#wantedMs = Math.max(this.#wantedMs, notBeforeMs);
    if (!this.#isReading) void this.#read();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#retry[Symbol.dispose]();
    this.#moveTo(undefined);
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
    const { cwd, log } = this.#parts;
    const known = this.#status;
    try {
      const repository = await this.#locate();
      if (this.#isOver) return;
      this.#moveTo(repository && this.#parts.treeOf(repository));
      const status = await this.#tree?.read(notBeforeMs);
      // Where a repository has gone meanwhile, git has read the one around it.
      if (this.#found !== undefined && (await repositoryMark(cwd)) !== this.#found.mark)
        return this.refresh(this.#parts.now());
      this.#report(status);
      // Another repository may be on its way to the place of one that has gone.
      if (known !== undefined && this.#status === undefined) this.#retry.start();
      else this.#retry.stop();
    } catch (error) {
      this.#found = undefined;
      if (this.#isOver) return;
      if (error instanceof ServiceError && FINAL.has(error.code)) {
        this.#report(undefined);
        if (known === undefined) return;
      } else if (!this.#retry.isStarted) log.warn({ cwd, error }, "git status not read");
      this.#retry.start();
    }
  }

  /** Asks git for the repository only where its place has changed. */
  async #locate(): Promise<Repository | undefined> {
    const { cwd, git, semaphore } = this.#parts;
    const mark = await repositoryMark(cwd);
    if (mark === undefined || mark !== this.#found?.mark) this.#found = undefined;
    if (mark === undefined) return undefined;
    const repository = this.#found?.repository ?? (await semaphore.take(() => findRepository(git())));
    if (repository !== undefined) this.#found = { mark, repository };
    return repository;
  }

  #moveTo(tree: TreeStatus | undefined): void {
    if (tree === this.#tree) return;
    this.#tree?.leave(this);
    this.#tree = tree;
    tree?.enter(this);
  }

  #report(status: GitStatus | undefined): void {
    if (this.#isOver || (this.#doneMs > -Infinity && isDeepStrictEqual(status, this.#status))) return;
    this.#status = status;
    this.#parts.onStatus(status);
  }
}
