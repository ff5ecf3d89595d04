import { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { GitFacts } from "../../protocol/schemas/session.ts";
import type { GitProgram } from "../git.ts";
import {
  FACT_LOOK_WAIT_MS,
  FACT_LOOKS_AT_ONCE,
  FACT_STALE_MS,
  MAX_FACT_FOLDERS,
  MAX_FACT_WATCHES,
} from "../git-limits.ts";
import type { Repository } from "../repository.ts";
import { FactFolder } from "./fact-folder.ts";
import type { FactParts } from "./fact-parts.ts";
import { FactReader } from "./fact-reader.ts";
import { FactTree, treeKey } from "./fact-tree.ts";
import { WatchQuota } from "./watch-quota.ts";

/** A session in a folder. */
export type FactPresence = Disposable & {
  /** What is known at this moment; waits for nobody. */
  readonly facts: GitFacts | undefined;
  /** Its program has ended: what was so at its end stays, unless somebody else works there. */
  ended(): void;
};

/**
 * Git facts of the folders that sessions were started in. What may change them is seen: in git's own files, in the
 * folders of tracked files, and by whoever tells (`changed`). Each working tree is read once for all sessions in it, one
 * reading at a time. At most MAX_FACT_FOLDERS folders: over that, those where nothing runs are forgotten first.
 */
export class FolderFacts implements Disposable {
  readonly #parts: FactParts;
  readonly #folders = new Map<string, FactFolder>();
  /** At most as many as there are folders. */
  readonly #trees = new Map<string, { readonly tree: FactTree; readonly folders: Set<FactFolder> }>();
  readonly #end = new AbortController();
  #askedMs = -Infinity;

  /** `watches`: how many folders of the file system may be watched. */
  constructor({
    program,
    log,
    now,
    watches = MAX_FACT_WATCHES,
  }: {
    readonly program: Pick<GitProgram, "at">;
    readonly log: Pick<Log, "warn">;
    /** Milliseconds, monotonic. */
    readonly now: () => number;
    readonly watches?: number;
  }) {
    const { signal } = this.#end;
    const slots = new Semaphore({
      ...{ slots: FACT_LOOKS_AT_ONCE, maxWaiting: 2 * MAX_FACT_FOLDERS, maxWaitMs: FACT_LOOK_WAIT_MS },
      full: () => new ServiceError("git_busy", "too many repositories have changed at the moment"),
    });
    const onExhausted = (error: unknown): void =>
      log.warn({ error }, "no more folders can be watched: git facts are read again when they are asked for");
    this.#parts = {
      ...{ slots, log, now, quota: new WatchQuota({ most: watches, now, onExhausted }) },
      git: (cwd) => program.at(cwd, signal),
      isOver: () => signal.aborted,
    };
  }

  /** A session is there from now on, and is told of changes. Throws nothing: what cannot be known is not. */
  enter(cwd: string, options: { readonly isLive: boolean; readonly onChange: () => void }): FactPresence {
    const reader = new FactReader({ ...options, now: this.#parts.now });
    const folder = this.#folder(cwd);
    folder?.enter(reader);
    return {
      get facts() {
        return folder?.has(reader) ? folder.facts : undefined;
      },
      ended: () => folder?.end(reader),
      [Symbol.dispose]: () => {
        folder?.leave(reader);
        if (folder?.isLeft) this.#left(folder);
      },
    };
  }

  /** Whether a program runs in a repository, which is watched then. */
  get isWatching(): boolean {
    return [...this.#trees.values()].some(({ folders }) => [...folders].some(({ isLive }) => isLive));
  }

  /** Something has happened in the repository with that common directory. */
  changed(commonDir: string): void {
    for (const { tree } of this.#trees.values()) if (tree.commonDir === commonDir) tree.hint();
  }

  /** Somebody asks for what is known: what cannot be watched is read again in the background, if that is long ago. */
  asked(): void {
    const nowMs = this.#parts.now();
    if (nowMs - this.#askedMs < FACT_STALE_MS) return;
    this.#askedMs = nowMs;
    for (const folder of this.#folders.values()) folder.asked();
    for (const { tree } of this.#trees.values()) tree.asked();
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    for (const folder of this.#folders.values()) folder[Symbol.dispose]();
    for (const { tree } of this.#trees.values()) tree[Symbol.dispose]();
    this.#folders.clear();
    this.#trees.clear();
  }

  #folder(cwd: string): FactFolder | undefined {
    const known = this.#folders.get(cwd);
    if (known !== undefined) return known;
    if (this.#parts.isOver() || !cwd.startsWith("/") || !this.#makeRoom()) return undefined;
    const join = (folder: FactFolder, repository: Repository | undefined): FactTree | undefined =>
      this.#join(folder, repository);
    const folder = new FactFolder({ parts: this.#parts, cwd, join });
    this.#folders.set(cwd, folder);
    return folder;
  }

  #makeRoom(): boolean {
    if (this.#folders.size < MAX_FACT_FOLDERS) return true;
    const idle = [...this.#folders.values()].find(({ isLive }) => !isLive);
    if (idle === undefined) return false;
    idle.clear();
    this.#left(idle);
    return true;
  }

  #left(folder: FactFolder): void {
    // Another one may be in its place, since it was forgotten for want of room.
    if (this.#folders.get(folder.cwd) === folder) this.#folders.delete(folder.cwd);
    folder[Symbol.dispose]();
    this.#leave(folder, undefined);
  }

  #join(folder: FactFolder, repository: Repository | undefined): FactTree | undefined {
    const key = repository && treeKey(repository);
    this.#leave(folder, key);
    // It has been left while it was looked at.
    if (repository === undefined || key === undefined || folder.isLeft) return undefined;
    const known = this.#trees.get(key);
    if (known?.folders.has(folder)) return known.tree;
    const folders = known?.folders ?? new Set();
    folders.add(folder);
    const tree = known?.tree ?? this.#plant(repository, folders);
    this.#trees.set(key, { tree, folders });
    // Where nobody worked until now it was left as it was.
    tree.hint();
    return tree;
  }

  #plant(repository: Repository, folders: Set<FactFolder>): FactTree {
    const tree: FactTree = new FactTree({
      ...{ parts: this.#parts, repository },
      isLive: () => [...folders].some(({ isLive }) => isLive),
      onChange: () => {
        for (const folder of [...folders]) folder.tell();
      },
      onGone: () => this.#gone(tree),
    });
    return tree;
  }

  /** Whoever stands in it looks again; whoever finds it again then, finds a new one. */
  #gone(tree: FactTree): void {
    const known = this.#trees.get(tree.key);
    // Another one may be in its place, since it was left while it was looked at.
    if (known?.tree !== tree) return;
    this.#trees.delete(tree.key);
    tree[Symbol.dispose]();
    for (const folder of known.folders) folder.treeGone();
  }

  /** It is in none of the trees any more but in that one. */
  #leave(folder: FactFolder, key: string | undefined): void {
    for (const [known, { tree, folders }] of this.#trees) {
      if (known === key || !folders.delete(folder)) continue;
      if (folders.size > 0) {
        tree.hint();
        continue;
      }
      this.#trees.delete(known);
      tree[Symbol.dispose]();
    }
  }
}
