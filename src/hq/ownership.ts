/**
 * Whose session an id means: of whoever had it first, until that one has it no more (contract 6.4). Ids are those that
 * the owners made; two with the same id are a conflict, and the later one's is not reached.
 */
export class Ownership<Owner> {
  /** Whoever has a session with that id, the first one first. */
  readonly #holders = new Map<string, readonly Owner[]>();

  #conflicts = 0;

  /** Whether several have the same id anywhere. */
  get hasConflicts(): boolean {
    return this.#conflicts > 0;
  }

  of(sessionId: string): Owner | undefined {
    return this.#holders.get(sessionId)?.[0];
  }

  /** Returns whether that is a conflict that was not there before. */
  claim(sessionId: string, owner: Owner): boolean {
    const holders = this.#holders.get(sessionId) ?? [];
    if (holders.includes(owner)) return false;
    this.#holders.set(sessionId, [...holders, owner]);
    if (holders.length > 0) this.#conflicts += 1;
    return holders.length > 0;
  }

  /** Returns the next one that has it, where `owner` was the first. */
  release(sessionId: string, owner: Owner): Owner | undefined {
    const holders = this.#holders.get(sessionId) ?? [];
    const rest = holders.filter((holder) => holder !== owner);
    if (rest.length > 0 && rest.length < holders.length) this.#conflicts -= 1;
    if (rest.length > 0) this.#holders.set(sessionId, rest);
    else this.#holders.delete(sessionId);
    return holders[0] === owner ? rest[0] : undefined;
  }
}
