import { setTimeout as pause } from "node:timers/promises";
import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { Git } from "../git.ts";
import { STATUS_PAUSE_FACTOR } from "../git-limits.ts";
import type { Repository } from "../repository.ts";
import { readTreeStatus, type TreeRead } from "./status.ts";

type TreeStatusParts = {
  /** A git in the folder that has read no config yet. */
  readonly gitAt: (cwd: string) => Git;
  readonly semaphore: Pick<Semaphore, "take">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/** The git status of one working tree: a single flight for all folders in it. */
export class TreeStatus {
  readonly repository: Repository;
  readonly #parts: TreeStatusParts;
  /** The last read that has begun, and the one that waits for its turn. */
  #last: { readonly beganMs: number; readonly read: Promise<TreeRead> } | undefined;
  #next: Promise<TreeRead> | undefined;
  /** Resolves after the last read and a pause: git gets at most a fifth of a core for one tree. */
  #idle: Promise<void> = Promise.resolve();

  constructor(repository: Repository, parts: TreeStatusParts) {
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
