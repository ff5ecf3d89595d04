import { ServiceError } from "../../protocol/errors.ts";
import type { GitFacts } from "../../protocol/schemas/session.ts";
import { FACT_STALE_MS, FACT_TRUST_MS } from "../git-limits.ts";
import { findRepository, type Repository } from "../repository.ts";
import { type FactParts, isPassing } from "./fact-parts.ts";
import { beginningPlaces } from "./fact-places.ts";
import type { FactReader } from "./fact-reader.ts";
import { type FactTree, treeKey } from "./fact-tree.ts";
import { FolderWatches } from "./folder-watches.ts";
import { isLikelyRepository } from "./likely-repository.ts";
import { PacedLook } from "./paced-look.ts";

export type FactFolderOptions = {
  readonly parts: FactParts;
  readonly cwd: string;
  /** The tree of that repository from now on, or none. */
  readonly join: (folder: FactFolder, repository: Repository | undefined) => FactTree | undefined;
};

/** A folder that sessions were started in, and the working tree that it is in, if any. */
export class FactFolder implements Disposable {
  readonly cwd: string;
  readonly #options: FactFolderOptions;
  readonly #look: PacedLook;
  readonly #beginning: FolderWatches;
  readonly #readers = new Set<FactReader>();
  /** How many of them are live: they are counted, not looked through, as there may be thousands. */
  #live = 0;
  #tree: FactTree | undefined;
  /** The tree that git finds from here, and that is none when looked at. */
  #mirage: string | undefined;
  #lookedAtMs = -Infinity;
  #isFailing = false;

  constructor(options: FactFolderOptions) {
    this.#options = options;
    this.cwd = options.cwd;
    const { quota, slots, now } = options.parts;
    this.#look = new PacedLook({ slots, now, look: () => this.#tryToLook() });
    this.#beginning = new FolderWatches({ quota, onChange: () => this.#look.hint() });
    this.#look.hint(0);
  }

  get facts(): GitFacts | undefined {
    return this.#tree?.facts;
  }

  /** Whether a program runs that was started here. */
  get isLive(): boolean {
    return this.#live > 0;
  }

  /** Whether there is nobody any more. */
  get isLeft(): boolean {
    return this.#readers.size === 0;
  }

  has(reader: FactReader): boolean {
    return this.#readers.has(reader);
  }

  enter(reader: FactReader): void {
    this.#readers.add(reader);
    if (!reader.isLive) return;
    this.#live++;
    this.#hint();
  }

  /** Its program has ended. */
  end(reader: FactReader): void {
    if (!reader.isLive) return;
    reader.end();
    if (!this.#readers.has(reader)) return;
    this.#live--;
    this.#hint();
  }

  leave(reader: FactReader): void {
    this.end(reader);
    this.#readers.delete(reader);
  }

  /** All of them leave. */
  clear(): void {
    for (const reader of [...this.#readers]) this.leave(reader);
  }

  /** What it was found in is that no more. */
  treeGone(): void {
    this.#mirage = this.#tree?.key;
    this.#tree = undefined;
    this.#look.hint();
  }

  /** Somebody asks: what no watch keeps fresh is looked at. None tells of a repository that comes above the folder. */
  asked(): void {
    const isWatched = this.#beginning.isComplete && !this.#isFailing;
    if (!this.isLive || (isWatched && this.#tree !== undefined)) return;
    const lifetimeMs = isWatched ? FACT_TRUST_MS : FACT_STALE_MS;
    if (this.#options.parts.now() - this.#lookedAtMs >= lifetimeMs) this.#look.hint(0);
  }

  tell(): void {
    for (const reader of [...this.#readers]) reader.tell();
  }

  [Symbol.dispose](): void {
    this.#look[Symbol.dispose]();
    this.#beginning[Symbol.dispose]();
  }

  /** Somebody has come or gone. */
  #hint(): void {
    if (!this.isLive) this.#beginning.want(() => []);
    this.#look.hint();
    this.#tree?.hint();
  }

  /** Rejects where it may go another time. */
  async #tryToLook(): Promise<void> {
    const { parts, cwd } = this.#options;
    try {
      this.#found(await this.#find());
      this.#isFailing = false;
    } catch (error) {
      // Of a repository that git does not trust, or without git, nothing is known: that is how it is.
      const isUsual = error instanceof ServiceError && !isPassing(error);
      if (!isUsual && !this.#isFailing && !parts.isOver()) {
        parts.log.warn({ cwd, error }, "git facts not read");
      }
      this.#isFailing = !isUsual;
      if (!isUsual) throw error;
    } finally {
      this.#lookedAtMs = parts.now();
    }
  }

  async #find(): Promise<Repository | undefined> {
    const { parts, cwd } = this.#options;
    // Before the look: what changes later is seen.
    if (this.isLive) this.#beginning.want(() => beginningPlaces(cwd));
    if (!(await isLikelyRepository(cwd))) return undefined;
    const found = await findRepository(parts.git(cwd));
    return found !== undefined && (await this.#isMirage(found)) ? undefined : found;
  }

  /** Its tree was none when looked at. It may be one again by now: that is told in its own place. */
  async #isMirage(found: Repository): Promise<boolean> {
    const { parts } = this.#options;
    const key = treeKey(found);
    if (key !== this.#mirage) return false;
    const there = await findRepository(parts.git(found.root));
    return there === undefined || treeKey(there) !== key;
  }

  #found(repository: Repository | undefined): void {
    if (this.#options.parts.isOver()) return;
    this.#mirage = undefined;
    const before = this.facts;
    this.#tree = this.#options.join(this, repository);
    if (this.facts !== before) this.tell();
    if (!this.isLive) this.#beginning.want(() => []);
  }
}
