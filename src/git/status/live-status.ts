// The git status of the folders with sessions: one `git status` for all sessions of a working tree. It is read again
// after a change of git's own files, when a hook or the session host says so, and for a list that finds it older than
// GIT_CACHE_MS. Otherwise no git runs.
import { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import type { GitProgram } from "../git.ts";
import {
  GIT_CACHE_MS,
  MAX_STATUS_FOLDERS,
  STATUS_READS_AT_ONCE,
  STATUS_TURN_TIMEOUT_MS,
} from "../git-limits.ts";
import type { Repository } from "../repository.ts";
import type { FolderState } from "../worker/messages.ts";
import { FolderStatus } from "./folder-status.ts";
import { TreeStatus } from "./tree-status.ts";

export type LiveStatusParts = {
  readonly program: Pick<GitProgram, "at">;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** The status of a folder is known or has changed; `undefined` outside a repository. */
  readonly onStatus: (cwd: string, status: GitStatus | undefined) => void;
};

/** At most MAX_STATUS_FOLDERS folders: over that, a folder where no program runs is dropped. */
export class LiveStatus implements Disposable {
  readonly #parts: LiveStatusParts;
  readonly #semaphore = new Semaphore({
    permits: STATUS_READS_AT_ONCE,
    maxWaiting: 2 * MAX_STATUS_FOLDERS,
    maxWaitMs: STATUS_TURN_TIMEOUT_MS,
    full: () => new ServiceError("git_busy", "too many repositories have changed at the moment"),
  });
  readonly #folders = new Map<string, FolderStatus>();
  /** By top and git directory; at most as many as folders. */
  readonly #trees = new Map<string, TreeStatus>();
  readonly #end = new AbortController();
  #isExhausted = false;

  constructor(parts: LiveStatusParts) {
    this.#parts = parts;
  }

  /** Never throws: an unknown status is `undefined`. */
  set(cwd: string, state: FolderState): void {
    if (state === "left") this.#drop(cwd);
    else this.#folder(cwd)?.setLive(state === "live");
  }

  changed(commonDir: string): void {
    for (const tree of this.#trees.values()) if (tree.commonDir === commonDir) tree.refresh();
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
    const { program, log, now, onStatus } = this.#parts;
    const folder = new FolderStatus({
      ...{ cwd, semaphore: this.#semaphore, log, now },
      git: () => program.at(cwd, this.#end.signal),
      treeOf: (repository) => this.#tree(repository),
      onStatus: (status) => onStatus(cwd, status),
    });
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

  #tree(repository: Repository): TreeStatus {
    const key = JSON.stringify([repository.root, repository.gitDir]);
    const known = this.#trees.get(key);
    if (known !== undefined) return known;
    const { program, log, now } = this.#parts;
    const tree = new TreeStatus({
      ...{ repository, semaphore: this.#semaphore, now },
      git: () => program.at(repository.root, this.#end.signal),
      onEmpty: () => this.#trees.delete(key),
      onExhausted: (error) => {
        if (this.#isExhausted) return;
        this.#isExhausted = true;
        log.warn({ error }, "no more folders can be watched: git status is read when it is asked for");
      },
    });
    this.#trees.set(key, tree);
    return tree;
  }
}
