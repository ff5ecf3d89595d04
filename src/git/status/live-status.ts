// The git status of the folders with sessions: one `git status` for all sessions of a working tree. It is read again
// after a change of git's own files, when a hook or the session host says so, and for a list that finds it older than
// GIT_CACHE_MS. Otherwise no git runs.
import { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import type { Git, GitProgram } from "../git.ts";
import {
  GIT_CACHE_MS,
  MAX_STATUS_FOLDERS,
  STATUS_READS_AT_ONCE,
  STATUS_TURN_TIMEOUT_MS,
} from "../git-limits.ts";
import type { Repository } from "../repository.ts";
import type { FolderState } from "../worker/methods.ts";
import { FolderStatus, type FolderStatusParts } from "./folder-status.ts";
import { TreeStatus } from "./tree-status.ts";

type LiveStatusParts = {
  readonly program: Pick<GitProgram, "at">;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** The status of a folder is known or has changed; `undefined` outside a repository. */
  readonly onStatus: (cwd: string, status: GitStatus | undefined) => void;
};

/** At most MAX_STATUS_FOLDERS folders: over that, a folder where no program runs is dropped. */
export class LiveStatus implements Disposable {
  readonly #now: () => number;
  readonly #parts: FolderStatusParts;
  readonly #folders = new Map<string, FolderStatus>();
  readonly #end = new AbortController();

  constructor({ program, log, now, onStatus }: LiveStatusParts) {
    this.#now = now;
    const semaphore = new Semaphore({
      permits: STATUS_READS_AT_ONCE,
      maxWaiting: 2 * MAX_STATUS_FOLDERS,
      maxWaitMs: STATUS_TURN_TIMEOUT_MS,
      full: () => new ServiceError("git_busy", "too many repositories have changed at the moment"),
    });
    const gitAt = (cwd: string): Git => program.at(cwd, this.#end.signal);
    let isExhausted = false;
    this.#parts = {
      ...{ gitAt, semaphore, log, now, onStatus },
      treeOf: (repository) => this.#tree(repository) ?? new TreeStatus(repository, { gitAt, semaphore, now }),
      onExhausted: (error) => {
        if (!isExhausted)
          log.warn({ error }, "no more folders can be watched: git status is read when it is asked for");
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
    const notBeforeMs = this.#now() - (cwds === undefined ? GIT_CACHE_MS : 0);
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
