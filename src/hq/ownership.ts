/**
 * The owner of each session id: the first remote that has a session with the id, until that session is removed (contract
 * 6.4). Remotes choose the ids. If two have the same one, the session of the later remote cannot be reached.
 */
export class Ownership<Owner> {
  /** All remotes that have a session with the id, in order of arrival. */
  readonly #holders = new Map<string, readonly Owner[]>();

  of(sessionId: string): Owner | undefined {
    return this.#holders.get(sessionId)?.[0];
  }

  /** Returns whether this is a new conflict. */
  claim(sessionId: string, owner: Owner): boolean {
    const holders = this.#holders.get(sessionId) ?? [];
    if (holders.includes(owner)) return false;
    this.#holders.set(sessionId, [...holders, owner]);
    return holders.length > 0;
  }

  /** Returns the new owner of the id if `owner` was the first holder and there is another one. */
  release(sessionId: string, owner: Owner): Owner | undefined {
    const holders = this.#holders.get(sessionId) ?? [];
    const rest = holders.filter((holder) => holder !== owner);
    if (rest.length > 0) this.#holders.set(sessionId, rest);
    else this.#holders.delete(sessionId);
    return holders[0] === owner ? rest[0] : undefined;
  }
}
