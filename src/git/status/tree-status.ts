import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import { FolderWatch, type WatchedFolder } from "../folder-watch.ts";
import type { Git } from "../git.ts";
import { STATUS_PAUSE_FACTOR, STATUS_SETTLE_MS } from "../git-limits.ts";
import type { Repository } from "../repository.ts";
import { readSessionStatus, type SessionStatus } from "./status.ts";

export type TreeStatusOptions = {
  readonly repository: Repository;
  /** A git at the root that has read no config yet. */
  readonly git: () => Git;
  /** For all working trees together. */
  readonly slots: Pick<Semaphore, "take">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Whether a program runs in the tree, which is watched then. */
  readonly isLive: () => boolean;
  /** git's own files have changed. */
  readonly onChange: () => void;
  readonly onExhausted: (error: unknown) => void;
};

/** When git began to run; Infinity until then. */
type Turn = { beganMs: number };

/** The git status of one working tree, read once for all sessions in it. */
export class TreeStatus implements Disposable {
  readonly #options: TreeStatusOptions;
  #last: { readonly turn: Turn; readonly facts: Promise<GitStatus> } | undefined;
  /** Before then git does not run again: it gets at most a fifth of a core for one tree. */
  #earliestMs = -Infinity;
  #watch: { readonly watch: FolderWatch; readonly key: string } | undefined;
  #refs: Pick<SessionStatus, "branch" | "upstream"> = { branch: undefined, upstream: undefined };

  constructor(options: TreeStatusOptions) {
    this.#options = options;
  }

  get commonDir(): string {
    return this.#options.repository.commonDir;
  }

  /** A status that git began to read at `notBeforeMs` or later. Rejects as `Git.read` does. */
  async read(notBeforeMs: number): Promise<GitStatus> {
    const last = this.#last;
    if (last !== undefined && last.turn.beganMs >= notBeforeMs) return await last.facts;
    const turn: Turn = { beganMs: Infinity };
    const facts = this.#inTurn(turn, last?.facts);
    this.#last = { turn, facts };
    return await facts;
  }

  /** Ends the watch; the next reading begins another one if a program runs there. */
  rest(): void {
    this.#watch?.watch[Symbol.dispose]();
    this.#watch = undefined;
  }

  [Symbol.dispose](): void {
    this.rest();
  }

  async #inTurn(turn: Turn, before: Promise<GitStatus> | undefined): Promise<GitStatus> {
    const { now, slots } = this.#options;
    try {
      await before?.catch(() => undefined);
      if (this.#earliestMs > now()) await pause(this.#earliestMs - now(), undefined, { ref: false });
      return await slots.take(async () => {
        turn.beganMs = now();
        return await this.#read().finally(() => {
          this.#earliestMs = now() + STATUS_PAUSE_FACTOR * (now() - turn.beganMs);
        });
      });
    } finally {
      // It may never have had its turn.
      if (turn.beganMs === Infinity) turn.beganMs = -Infinity;
    }
  }

  async #read(): Promise<GitStatus> {
    const { git, repository } = this.#options;
    this.#keepWatching();
    const at = git();
    let found = await readSessionStatus(at, repository);
    this.#refs = found;
    // The new places may have changed before their watch began.
    if (this.#keepWatching()) found = await readSessionStatus(at, repository);
    return found.facts;
  }

  /** Returns whether the watch is a new one. */
  #keepWatching(): boolean {
    const { isLive, onChange, onExhausted, repository } = this.#options;
    if (!isLive()) {
      this.rest();
      return false;
    }
    const folders = statusFolders(repository, this.#refs);
    const key = JSON.stringify(folders.map(({ path }) => path));
    if (this.#watch?.key === key && this.#watch.watch.isCurrent) return false;
    this.rest();
    this.#watch = {
      watch: new FolderWatch(folders, { onChange, onExhausted, settleMs: STATUS_SETTLE_MS }),
      key,
    };
    return true;
  }
}

/** Where git commands leave a trace; edits of files in the working tree leave none there. */
function statusFolders(
  { root, gitDir, commonDir }: Repository,
  { branch, upstream }: Pick<SessionStatus, "branch" | "upstream">,
): readonly WatchedFolder[] {
  // A short name does not tell whether the upstream is a branch of this repository or of a remote.
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
