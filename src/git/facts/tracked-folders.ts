import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Git } from "../git.ts";
import { gitError } from "../git-error.ts";
import {
  FACT_NOISE_MAX_MS,
  FACT_SETTLE_MS,
  MAX_FACT_WATCHES_OF_TREE,
  MAX_TRACKED_LIST_BYTES,
} from "../git-limits.ts";
import { KILLED } from "../git-process.ts";
import type { Repository } from "../repository.ts";
import { FolderWatches } from "./folder-watches.ts";
import type { WatchQuota } from "./watch-quota.ts";

/** Folders of tracked files; `undefined` where edits of some of them are seen in no folder, or there are too many. */
export type TrackedList = readonly string[] | undefined;

/**
 * Sees edits in a working tree: the folders of the files that git tracks are watched, at most MAX_FACT_WATCHES_OF_TREE.
 * What git ignores is mostly in folders of its own, which are not. Other files in those folders may change all the time:
 * where a look finds nothing new, the next one waits twice as long, up to FACT_NOISE_MAX_MS, until they come to rest.
 */
export class TrackedFolders implements Disposable {
  readonly #watches: FolderWatches;
  #folders: TrackedList = [];
  /** Which state of the index they were found in. */
  #stamp: string | undefined;
  #delayMs = FACT_SETTLE_MS;
  #isDue = false;
  #changedAtMs = 0;

  /** `onChange`: a look is due so many milliseconds from now. `now` in milliseconds, monotonic. */
  constructor(options: {
    readonly quota: WatchQuota;
    readonly now: () => number;
    readonly onChange: (afterMs: number) => void;
  }) {
    const onChange = (): void => {
      const nowMs = options.now();
      if (nowMs - this.#changedAtMs > FACT_NOISE_MAX_MS) this.#delayMs = FACT_SETTLE_MS;
      this.#changedAtMs = nowMs;
      this.#isDue = true;
      options.onChange(this.#delayMs);
    };
    this.#watches = new FolderWatches({ quota: options.quota, onChange });
  }

  /** Whether no edit can be missed. */
  get isComplete(): boolean {
    return this.#folders !== undefined && this.#watches.isComplete;
  }

  /** `git`: at the root. Returns whether a folder is watched that was not: what happened in it before was not seen. */
  async follow(git: Git, { root, gitDir }: Pick<Repository, "root" | "gitDir">): Promise<boolean> {
    const stamp = await stampOf(join(gitDir, "index"));
    if (stamp === undefined || stamp !== this.#stamp) this.#folders = await readTracked(git);
    this.#stamp = stamp;
    const folders = this.#folders ?? [];
    return this.#watches.want(() =>
      folders.map((folder) => ({ path: join(root, folder), matters: (name) => name !== ".git" })),
    );
  }

  /** What the last look has found. */
  told({ isNews }: { readonly isNews: boolean }): void {
    if (isNews) this.#delayMs = FACT_SETTLE_MS;
    else if (this.#isDue) this.#delayMs = Math.min(2 * this.#delayMs, FACT_NOISE_MAX_MS);
    this.#isDue = false;
  }

  /** Nothing is watched until it is followed again. */
  rest(): void {
    this.#watches.want(() => []);
  }

  [Symbol.dispose](): void {
    this.#watches[Symbol.dispose]();
  }
}

/**
 * The folders of those files and all that these are in, as paths from the root, itself included; `text` is what
 * `git ls-files -z` says. `undefined` where there are more than `most`, or a submodule, whose commits no folder shows.
 */
export function trackedFolders(text: string, most: number): TrackedList {
  const folders = new Set(["."]);
  for (const path of text.split("\0")) {
    // An index that leads out of its tree was not made by git.
    if (path === ".gitmodules" || /^\/|(?:^|\/)\.\.(?:\/|$)/.test(path)) return undefined;
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
    if (folders.size > most) return undefined;
  }
  return [...folders];
}

async function readTracked(git: Git): Promise<TrackedList> {
  const run = await git.ask(["ls-files", "-z"], { enoughBytes: MAX_TRACKED_LIST_BYTES });
  const { code, stdout } = run;
  if (code === KILLED) throw gitError("ls-files", run);
  // Bytes are no less than characters.
  if (code !== 0 || stdout.length >= MAX_TRACKED_LIST_BYTES) return undefined;
  return trackedFolders(stdout, MAX_FACT_WATCHES_OF_TREE);
}

/** Another one after every change; `undefined` where there is no such file. */
async function stampOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found === undefined ? undefined : `${found.ino} ${found.size} ${found.mtimeMs}`;
}
