// The git status of the folders with sessions: one `git status` for all sessions of a working tree. It is read again
// after a change of git's own files, when a hook or the session host says so, and for a list that finds it older than
// GIT_CACHE_MS. Otherwise no git runs.
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { RetryTimer } from "../../lib/async/retry-timer.ts";
import { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import { FolderWatch, type WatchedFolder } from "../folder-watch.ts";
import type { Git, GitProgram } from "../git.ts";
import {
  GIT_CACHE_MS,
  MAX_STATUS_FOLDERS,
  MAX_STATUS_RETRY_MS,
  STATUS_PAUSE_FACTOR,
  STATUS_READS_AT_ONCE,
  STATUS_RETRY_MS,
  STATUS_SETTLE_MS,
  STATUS_TURN_TIMEOUT_MS,
} from "../git-limits.ts";
import { findRepository, type Repository, repositoryMark } from "../repository.ts";
import type { FolderState } from "../worker/methods.ts";
import { readTreeStatus, type TreeRead } from "./status.ts";

type LiveStatusParts = {
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** The status of a folder is known or has changed; `undefined` outside a repository. */
  readonly onStatus: (cwd: string, status: GitStatus | undefined) => void;
};

/** What the folders share. */
type Parts = LiveStatusParts & {
  /** A git in the folder that has read no config yet. */
  readonly gitAt: (cwd: string) => Git;
  readonly semaphore: Semaphore;
  readonly treeOf: (repository: Repository) => TreeStatus;
  readonly onExhausted: (error: unknown) => void;
};

/** At most MAX_STATUS_FOLDERS folders: over that, a folder where no program runs is dropped. */
export class LiveStatus implements Disposable {
  readonly #parts: Parts;
  readonly #folders = new Map<string, FolderStatus>();
  readonly #end = new AbortController();

  constructor({ program, ...parts }: LiveStatusParts & { readonly program: Pick<GitProgram, "at"> }) {
    const semaphore = new Semaphore({
      permits: STATUS_READS_AT_ONCE,
      maxWaiting: 2 * MAX_STATUS_FOLDERS,
      maxWaitMs: STATUS_TURN_TIMEOUT_MS,
      full: () => new ServiceError("git_busy", "too many repositories have changed at the moment"),
    });
    const gitAt = (cwd: string): Git => program.at(cwd, this.#end.signal);
    let isExhausted = false;
    this.#parts = {
      ...{ ...parts, gitAt, semaphore },
      treeOf: (repository) => this.#tree(repository) ?? new TreeStatus(repository, this.#parts),
      onExhausted: (error) => {
        if (!isExhausted)
          parts.log.warn(
            { error },
            "no more folders can be watched: git status is read when it is asked for",
          );
        isExhausted = true;
      },
    };
  }

  /** Never throws: an unknown status is `undefined`. */
  set(cwd: string, state: FolderState): void {
    if (state === "left") this.#drop(cwd);
    else this.#folder(cwd)?.setLive(state === "live");
  }

  changed(commonDir: string): void {
    for (const folder of this.#folders.values())
      if (folder.isLive && folder.tree?.repository.commonDir === commonDir) folder.refresh();
  }

  /** Reads the status of these folders, or without `cwds` every status older than GIT_CACHE_MS. */
  check(cwds?: readonly string[]): void {
    const notBeforeMs = this.#parts.now() - (cwds === undefined ? GIT_CACHE_MS : 0);
    for (const cwd of cwds ?? this.#folders.keys()) {
      const folder = this.#folders.get(cwd);
      if (folder?.isLive) folder.refresh(notBeforeMs);
    }
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    for (const cwd of this.#folders.keys()) this.#drop(cwd);
  }

  #folder(cwd: string): FolderStatus | undefined {
    const known = this.#folders.get(cwd);
    if (known !== undefined) return known;
    if (this.#end.signal.aborted || !cwd.startsWith("/") || !this.#makeRoom()) return undefined;
    const folder = new FolderStatus(cwd, this.#parts);
    this.#folders.set(cwd, folder);
    return folder;
  }

  #makeRoom(): boolean {
    if (this.#folders.size < MAX_STATUS_FOLDERS) return true;
    const idle = [...this.#folders.values()].find((folder) => !folder.isLive);
    if (idle !== undefined) this.#drop(idle.cwd);
    return idle !== undefined;
  }

  #drop(cwd: string): void {
    this.#folders.get(cwd)?.[Symbol.dispose]();
    this.#folders.delete(cwd);
  }

  /** That of another folder in the same tree. */
  #tree({ root, gitDir }: Repository): TreeStatus | undefined {
    const trees = this.#folders.values().map(({ tree }) => tree);
    return trees.find((tree) => tree?.repository.root === root && tree.repository.gitDir === gitDir);
  }
}

/** After any other error the status is read again. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["not_a_repository", "forbidden", "git_unavailable"]);

/** A folder with sessions, and the git status of the working tree that it is in. */
class FolderStatus implements Disposable {
  readonly cwd: string;
  readonly #parts: Parts;
  readonly #watch: FolderWatch;
  isLive = false;
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

  constructor(cwd: string, parts: Parts) {
    this.cwd = cwd;
    this.#parts = parts;
    const { onExhausted } = parts;
    this.#watch = new FolderWatch({
      ...{ onExhausted, settleMs: STATUS_SETTLE_MS, onChange: () => this.refresh() },
    });
  }

  get tree(): TreeStatus | undefined {
    return this.#found?.tree;
  }

  setLive(isLive: boolean): void {
    const isSame = isLive === this.isLive;
    this.isLive = isLive;
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
    const repository = this.isLive && read && this.tree?.repository;
    return this.#watch.set(repository ? statusFolders(repository, read) : []);
  }
}

/** Files that git commands change; edits in the working tree do not change them. */
function statusFolders(
  { root, gitDir, commonDir }: Repository,
  { status, upstream }: TreeRead,
): readonly WatchedFolder[] {
  // The upstream may be a branch of this repository or of a remote.
  const refs = [
    ...(status.gitBranch ? [`refs/heads/${status.gitBranch}`] : []),
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

/** The git status of one working tree: a single flight for all folders in it. */
class TreeStatus {
  readonly repository: Repository;
  readonly #parts: Parts;
  /** The last read that has begun, and the one that waits for its turn. */
  #last: { readonly beganMs: number; readonly read: Promise<TreeRead> } | undefined;
  #next: Promise<TreeRead> | undefined;
  /** Resolves after the last read and a pause: git gets at most a fifth of a core for one tree. */
  #idle: Promise<void> = Promise.resolve();

  constructor(repository: Repository, parts: Parts) {
    this.repository = repository;
    this.#parts = parts;
  }

  /** A status that git began to read at `notBeforeMs` or later. Rejects as `Git.read` does. */
  async read(notBeforeMs: number): Promise<TreeRead> {
    if (this.#last !== undefined && this.#last.beganMs >= notBeforeMs) return await this.#last.read;
    if (this.#next !== undefined) return await this.#next;
    const next = this.#begin();
    this.#next = next;
    return await next.catch((error: unknown) => {
      if (this.#next === next) this.#next = undefined;
      throw error;
    });
  }

  async #begin(): Promise<TreeRead> {
    const { now, semaphore, gitAt } = this.#parts;
    await this.#idle;
    return await semaphore.take(async () => {
      const beganMs = now();
      const read = readTreeStatus(gitAt(this.repository.root), this.repository);
      [this.#last, this.#next] = [{ beganMs, read }, undefined];
      const rest = (): Promise<void> =>
        pause(STATUS_PAUSE_FACTOR * (now() - beganMs), undefined, { ref: false });
      this.#idle = read.then(rest, rest);
      return await read;
    });
  }
}
