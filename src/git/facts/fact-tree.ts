import { isDeepStrictEqual } from "node:util";
import type { GitFacts } from "../../protocol/schemas/session.ts";
import type { Git } from "../git.ts";
import { FACT_STALE_MS, FACT_TRUST_MS } from "../git-limits.ts";
import { findRepository, isNoRepository, type Repository } from "../repository.ts";
import { type FactParts, isPassing } from "./fact-parts.ts";
import { type FactRefs, factPlaces } from "./fact-places.ts";
import { FolderWatches } from "./folder-watches.ts";
import { readGitFacts } from "./git-facts.ts";
import { PacedLook } from "./paced-look.ts";
import { TrackedFolders } from "./tracked-folders.ts";

export type FactTreeOptions = {
  readonly parts: FactParts;
  readonly repository: Repository;
  /** Whether somebody works in it: only then it is watched. */
  readonly isLive: () => boolean;
  readonly onChange: () => void;
  /** It is not the working tree of that repository any more: whoever stands in it has to look where that is now. */
  readonly onGone: () => void;
};

/** What is known of one working tree. */
export class FactTree implements Disposable {
  readonly key: string;
  readonly #options: FactTreeOptions;
  readonly #look: PacedLook;
  readonly #places: FolderWatches;
  readonly #tracked: TrackedFolders;
  readonly #scope = new DisposableStack();
  #facts: GitFacts | undefined;
  #refs: FactRefs = { branch: undefined, upstream: undefined };
  #repository: Repository | undefined;
  #lookedAtMs = -Infinity;
  #isFailing = false;

  constructor(options: FactTreeOptions) {
    this.#options = options;
    const { parts, repository } = options;
    const { quota, slots, now } = parts;
    this.key = treeKey(repository);
    // It was found this very moment.
    this.#repository = repository;
    this.#look = this.#scope.use(new PacedLook({ slots, now, look: () => this.#tryToLook() }));
    this.#places = this.#scope.use(new FolderWatches({ quota, onChange: () => this.#look.hint() }));
    this.#tracked = this.#scope.use(
      new TrackedFolders({ quota, now, onChange: (afterMs) => this.#look.hint(afterMs) }),
    );
    this.#look.hint(0);
  }

  /** `undefined`: not known, or not to be had. */
  get facts(): GitFacts | undefined {
    return this.#facts;
  }

  get commonDir(): string {
    return this.#options.repository.commonDir;
  }

  /** Something may have changed in it, or somebody has come or gone. */
  hint(): void {
    if (!this.#options.isLive()) this.#rest();
    this.#look.hint();
  }

  /** Somebody asks what is known: what no watch keeps fresh is looked at in the background. */
  asked(): void {
    const { isLive, parts } = this.#options;
    const isWatched = this.#places.isComplete && this.#tracked.isComplete && !this.#isFailing;
    const lifetimeMs = isWatched ? FACT_TRUST_MS : FACT_STALE_MS;
    if (isLive() && parts.now() - this.#lookedAtMs >= lifetimeMs) this.#look.hint(0);
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  /** Nobody works there any more: what was so at the end stays. */
  #rest(): void {
    this.#places.want(() => []);
    this.#tracked.rest();
  }

  /** Rejects where it may go another time. */
  async #tryToLook(): Promise<void> {
    const { parts, repository } = this.#options;
    const git = parts.git(repository.root);
    try {
      await this.#lookAt(git);
      this.#isFailing = false;
    } catch (error) {
      // Between two questions it may have gone.
      if (isNoRepository(error) && !(await this.#isThere(git))) this.#gone();
      else this.#failed(error);
    } finally {
      this.#lookedAtMs = parts.now();
    }
  }

  async #lookAt(git: Git): Promise<void> {
    const repository = this.#repository ?? (await findRepository(git));
    this.#repository = undefined;
    const { isLive } = this.#options;
    if (repository === undefined || treeKey(repository) !== this.key) {
      this.#gone();
      return;
    }
    // What changes from here on is seen by a watch, or by the look.
    if (isLive()) this.#places.want(() => factPlaces(repository, this.#refs));
    let found = await readGitFacts(git, repository);
    this.#refs = found.refs;
    const isNew = isLive() && this.#places.want(() => factPlaces(repository, this.#refs));
    const isTrackedNew = isLive() && !repository.isBare && (await this.#tracked.follow(git, repository));
    if (isNew || isTrackedNew) found = await readGitFacts(git, repository);
    if (!isLive()) this.#rest();
    this.#tracked.told({ isNews: this.#set(found.facts) });
  }

  #gone(): void {
    this.#set(undefined);
    this.#rest();
    this.#options.onGone();
  }

  /** A git directory whose working tree is elsewhere is found, though git can tell nothing of a tree in it. */
  async #isThere(git: Git): Promise<boolean> {
    const { repository } = this.#options;
    const found = await findRepository(git).catch(() => repository);
    return found !== undefined && treeKey(found) === this.key;
  }

  #failed(error: unknown): void {
    const { parts, repository } = this.#options;
    // Until it goes another time, what was known stays.
    if (!isPassing(error) && !parts.isOver()) this.#set(undefined);
    if (!this.#isFailing && !parts.isOver()) {
      parts.log.warn({ repository: repository.root, error }, "git facts not read");
    }
    this.#isFailing = true;
    throw error;
  }

  /** Whether they are others. */
  #set(facts: GitFacts | undefined): boolean {
    if (isDeepStrictEqual(facts, this.#facts)) return false;
    this.#facts = facts;
    this.#options.onChange();
    return true;
  }
}

/** The same for the same working tree at the same place. */
export function treeKey({ root, gitDir }: Repository): string {
  return JSON.stringify([root, gitDir]);
}
