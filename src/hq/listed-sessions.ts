import type { SessionRecord } from "../protocol/schemas/session.ts";

/**
 * The sessions that the HQ shows, by public id. A change costs nothing for the others, and the running ones are counted:
 * each remote asks for their number every few seconds.
 */
export class ListedSessions {
  readonly #records = new Map<string, SessionRecord>();
  #running = 0;
  /** Newest first, without what is in `#changed`. */
  #list: readonly SessionRecord[] = [];
  /** Ids. */
  readonly #changed = new Set<string>();

  get running(): number {
    return this.#running;
  }

  /** `undefined`: not shown. */
  set(id: string, record: SessionRecord | undefined): void {
    const before = this.#records.get(id);
    if (record === before) return;
    this.#running += Number(record?.status === "running") - Number(before?.status === "running");
    if (record === undefined) this.#records.delete(id);
    else this.#records.set(id, record);
    this.#changed.add(id);
  }

  /** Newest first. Returns the same array until something changes. */
  all(): readonly SessionRecord[] {
    if (this.#changed.size === 0) return this.#list;
    const kept = this.#list.filter(({ id }) => !this.#changed.has(id));
    const changed = [...this.#changed].flatMap((id) => this.#records.get(id) ?? []).sort(newestFirst);
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
