import type { SessionRecord } from "../protocol/schemas/session.ts";

/** A remote, as far as the index reads it. */
type Holder = { readonly isListed: boolean; readonly records: ReadonlyMap<string, SessionRecord> };

/**
 * What each session id means at the HQ. Remotes choose the ids: an id belongs to the first remote that has a session with
 * it, until that session is removed (contract 6.4); such sessions of later remotes cannot be reached. The session is in the
 * list while its owner is. A change costs nothing for the other sessions, and the running ones are counted: each remote asks
 * for their number every few seconds.
 */
export class SessionIndex<Remote extends Holder> {
  /** All remotes that have a session with the id, in order of arrival. */
  readonly #holders = new Map<string, readonly Remote[]>();
  readonly #listed = new Map<string, SessionRecord>();
  #running = 0;
  /** Newest first, without what is in `#changed`. */
  #list: readonly SessionRecord[] = [];
  /** Ids. */
  readonly #changed = new Set<string>();

  get running(): number {
    return this.#running;
  }

  ownerOf(id: string): Remote | undefined {
    return this.#holders.get(id)?.[0];
  }

  /** Returns whether this is a new conflict. */
  claim(id: string, remote: Remote): boolean {
    const holders = this.#holders.get(id) ?? [];
    if (holders.includes(remote)) return false;
    this.#holders.set(id, [...holders, remote]);
    return holders.length > 0;
  }

  /** Returns the record of the next owner, if the remote was the owner and the next one is listed. */
  release(id: string, remote: Remote): SessionRecord | undefined {
    const owner = this.ownerOf(id);
    const rest = (this.#holders.get(id) ?? []).filter((holder) => holder !== remote);
    if (rest.length > 0) this.#holders.set(id, rest);
    else this.#holders.delete(id);
    const record = this.refresh(id);
    return owner === remote ? record : undefined;
  }

  /** To be called when the record of the owner, or whether it is listed, may have changed. Returns the listed record. */
  refresh(id: string): SessionRecord | undefined {
    const owner = this.ownerOf(id);
    const record = owner?.isListed === true ? owner.records.get(id) : undefined;
    const before = this.#listed.get(id);
    if (record === before) return record;
    this.#running += Number(record?.status === "running") - Number(before?.status === "running");
    if (record === undefined) this.#listed.delete(id);
    else this.#listed.set(id, record);
    this.#changed.add(id);
    return record;
  }

  /** Newest first. Returns the same array until something changes. */
  all(): readonly SessionRecord[] {
    if (this.#changed.size === 0) return this.#list;
    const kept = this.#list.filter(({ id }) => !this.#changed.has(id));
    const changed = [...this.#changed].flatMap((id) => this.#listed.get(id) ?? []).sort(newestFirst);
    this.#changed.clear();
    // Two sorted runs, which sorting merges.
    this.#list = [...kept, ...changed].sort(newestFirst);
    return this.#list;
  }
}

function newestFirst(one: SessionRecord, other: SessionRecord): number {
  if (one.created !== other.created) return one.created < other.created ? 1 : -1;
  return Number(one.id > other.id) - Number(one.id < other.id);
}
