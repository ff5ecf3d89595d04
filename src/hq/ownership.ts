/**
 * Whose session an id means: of whoever had it first, until that one has it no more (contract 6.4). Ids are those that
 * the owners made; two with the same id are a conflict, and the later one's is not reached.
 */
export class Ownership<Owner> {
  readonly #owners = new Map<string, Owner>();
  readonly #owned = new Map<Owner, Holding>();
  /** Ids that several have, or had: nobody is searched for another holder of the others. */
  readonly #contested = new Set<string>();

  of(sessionId: string): Owner | undefined {
    return this.#owners.get(sessionId);
  }

  /** Ids that `owner` has and another one had first. */
  conflictsOf(owner: Owner): ReadonlySet<string> {
    return this.#owned.get(owner)?.conflicts ?? NONE;
  }

  /** `owner` has these sessions now and no others. Returns the conflicts that were not known before. */
  settle(owner: Owner, sessionIds: ReadonlySet<string>): readonly string[] {
    const before = this.#owned.get(owner);
    const ids = new Set<string>();
    const conflicts = new Set<string>();
    for (const id of before?.ids ?? []) if (!sessionIds.has(id)) this.#pass(id);
    for (const id of sessionIds) {
      const first = this.#owners.get(id) ?? owner;
      this.#owners.set(id, first);
      (first === owner ? ids : conflicts).add(id);
      if (first !== owner) this.#contested.add(id);
    }
    if (sessionIds.size === 0) this.#owned.delete(owner);
    else this.#owned.set(owner, { ids, conflicts });
    return [...conflicts].filter((id) => before?.conflicts.has(id) !== true);
  }

  /** To the next one who has it, where there is one. */
  #pass(sessionId: string): void {
    this.#owners.delete(sessionId);
    if (!this.#contested.has(sessionId)) return;
    for (const [owner, { ids, conflicts }] of this.#owned) {
      if (!conflicts.delete(sessionId)) continue;
      ids.add(sessionId);
      this.#owners.set(sessionId, owner);
      return;
    }
    this.#contested.delete(sessionId);
  }

  /** `owner` has no sessions any more, as far as anybody here is concerned. */
  release(owner: Owner): void {
    this.settle(owner, new Set());
  }
}

const NONE: ReadonlySet<string> = new Set();

type Holding = { readonly ids: Set<string>; readonly conflicts: Set<string> };
