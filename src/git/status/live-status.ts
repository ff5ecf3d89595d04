// The git status of the folders that sessions were started in: one `git status` for all sessions of a working tree. It
// is read again after a change of git's own files, when a hook or the session host says so, and for a list that finds
// it older than GIT_CACHE_MS. Otherwise no git runs.
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
import { FolderStatus } from "./folder-status.ts";
import { TreeStatus } from "./tree-status.ts";

/** A session in a folder. */
export type StatusPresence = Disposable & {
  /** The status as far as it is known at this moment. */
  readonly facts: GitStatus | undefined;
  /** The session's program has ended: its status stays, unless another program runs there. */
  ended(): void;
};

type Tree = { readonly status: TreeStatus; readonly folders: Set<FolderStatus> };

/** At most MAX_STATUS_FOLDERS folders: over that, those where no program runs are forgotten first. */
export class LiveStatus implements Disposable {
  readonly #program: Pick<GitProgram, "at">;
  readonly #log: Pick<Log, "warn">;
  readonly #now: () => number;
  readonly #slots = new Semaphore({
    permits: STATUS_READS_AT_ONCE,
    maxWaiting: 2 * MAX_STATUS_FOLDERS,
    maxWaitMs: STATUS_TURN_TIMEOUT_MS,
    full: () => new ServiceError("git_busy", "too many repositories have changed at the moment"),
  });
  readonly #folders = new Map<string, FolderStatus>();
  /** At most as many as there are folders. */
  readonly #trees = new Map<string, Tree>();
  readonly #end = new AbortController();
  #isExhausted = false;

  constructor(parts: {
    readonly program: Pick<GitProgram, "at">;
    readonly log: Pick<Log, "warn">;
    /** Milliseconds, monotonic. */
    readonly now: () => number;
  }) {
    this.#program = parts.program;
    this.#log = parts.log;
    this.#now = parts.now;
  }

  /** A session is in that folder from now on. Never throws: an unknown status is `undefined`. */
  enter(cwd: string, options: { readonly isLive: boolean; readonly onChange: () => void }): StatusPresence {
    const folder = this.#folder(cwd);
    const session = folder?.enter(options);
    return {
      get facts() {
        return folder?.isEmpty ? undefined : folder?.facts;
      },
      ended: () => session && folder?.end(session),
      [Symbol.dispose]: () => {
        if (session === undefined || folder === undefined) return;
        folder.leave(session);
        if (folder.isEmpty) this.#forget(folder);
      },
    };
  }

  /** Whether a program runs in a repository, which is watched then. */
  get isWatching(): boolean {
    return [...this.#trees.values()].some(isLive);
  }

  /** Something has happened in the repository with that common directory. */
  changed(commonDir: string): void {
    for (const tree of this.#trees.values()) if (tree.status.commonDir === commonDir) this.#refresh(tree);
  }

  /** Something may have happened in these folders. */
  check(cwds: readonly string[]): void {
    for (const cwd of cwds) {
      const folder = this.#folders.get(cwd);
      if (folder?.isLive) folder.refresh(this.#now());
    }
  }

  /** A client lists the sessions. */
  asked(): void {
    for (const folder of this.#folders.values())
      if (folder.isLive) folder.refresh(this.#now() - GIT_CACHE_MS);
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    for (const folder of this.#folders.values()) this.#forget(folder);
  }

  #folder(cwd: string): FolderStatus | undefined {
    const known = this.#folders.get(cwd);
    if (known !== undefined) return known;
    if (this.#end.signal.aborted || !cwd.startsWith("/") || !this.#makeRoom()) return undefined;
    const folder: FolderStatus = new FolderStatus({
      ...{ cwd, slots: this.#slots, log: this.#log, now: this.#now },
      git: () => this.#program.at(cwd, this.#end.signal),
      join: (repository) => this.#join(folder, repository),
      onRest: () => {
        for (const tree of this.#trees.values())
          if (tree.folders.has(folder) && !isLive(tree)) tree.status.rest();
      },
    });
    this.#folders.set(cwd, folder);
    return folder;
  }

  #makeRoom(): boolean {
    if (this.#folders.size < MAX_STATUS_FOLDERS) return true;
    const idle = [...this.#folders.values()].find((folder) => !folder.isLive);
    if (idle !== undefined) this.#forget(idle);
    return idle !== undefined;
  }

  #forget(folder: FolderStatus): void {
    // Another one may be in its place, since it was forgotten for want of room.
    if (this.#folders.get(folder.cwd) === folder) this.#folders.delete(folder.cwd);
    folder[Symbol.dispose]();
    this.#join(folder, undefined);
  }

  /** The folder is in no other working tree than that. */
  #join(folder: FolderStatus, repository: Repository | undefined): TreeStatus | undefined {
    const key = repository && JSON.stringify([repository.root, repository.gitDir]);
    for (const [other, { status, folders }] of this.#trees) {
      if (other === key || !folders.delete(folder) || folders.size > 0) continue;
      this.#trees.delete(other);
      status[Symbol.dispose]();
    }
    if (repository === undefined || key === undefined) return undefined;
    const tree = this.#trees.get(key) ?? this.#tree(repository);
    this.#trees.set(key, tree);
    tree.folders.add(folder);
    return tree.status;
  }

  #tree(repository: Repository): Tree {
    const status = new TreeStatus({
      ...{ repository, slots: this.#slots, now: this.#now },
      git: () => this.#program.at(repository.root, this.#end.signal),
      isLive: () => isLive(tree),
      onChange: () => this.#refresh(tree),
      onExhausted: (error) => {
        if (this.#isExhausted) return;
        this.#isExhausted = true;
        this.#log.warn({ error }, "no more folders can be watched: git status is read when it is asked for");
      },
    });
    const tree: Tree = { status, folders: new Set() };
    return tree;
  }

  #refresh({ folders }: Tree): void {
    for (const folder of folders) if (folder.isLive) folder.refresh(this.#now());
  }
}

function isLive({ folders }: Tree): boolean {
  return [...folders].some((folder) => folder.isLive);
}
