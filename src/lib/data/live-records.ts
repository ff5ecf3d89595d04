// Records that somebody's access depends on (a login, a share link): each counts for as long as it is here.
import { MAX_ENDED_RECORDS } from "../../protocol/limits.ts";
import { Emitter } from "../async/emitter.ts";

export type LiveRecord = {
  /** Never used again for another record. */
  readonly id: string;
  /** What of: `login`, `share`. Each kind has its own bound, kept by its owner. */
  readonly kind: string;
  /** Seconds since 1970. */
  readonly expiresAtS: number;
  /** JSON. */
  readonly value: unknown;
};

/** Where the records of one server, or of all HQs of a group, are kept. */
export type RecordStore = {
  /** The server, or the group of HQs: what its tokens are for (`aud`). */
  readonly instanceId: string;
  /** As it is known here. */
  get(id: string): LiveRecord | undefined;
  /** Asks the store for a record that is not known here. ServiceError `registry_unavailable`: nobody can tell now. */
  find(id: string): Promise<LiveRecord | undefined>;
  list(kind: string): readonly LiveRecord[];
  /**
   * Adds or replaces a record; one that has ended stays ended. It counts here at once. Resolves when it is kept; rejects
   * when it is known here alone for now: it is kept when that is possible again.
   */
  put(record: LiveRecord): Promise<void>;
  /** Ends records: here at once, everywhere when it resolves. Rejects as `put`. */
  end(records: readonly Pick<LiveRecord, "id" | "expiresAtS">[]): Promise<void>;
  /** Hears the id of each record that is ended, before it expires. */
  watch(listener: (id: string) => void): Disposable;
  readonly tickets: TicketStore;
};

/** What the HQs of a group share. */
export type SharedRecordStore = RecordStore & {
  /** As the store has it now; as it is known here while the store is out of reach. */
  latest(id: string): Promise<LiveRecord | undefined>;
  /**
   * Replaces a record with what `change` makes of the latest one, as one step: `change` is called again when another HQ
   * was faster. ServiceError `registry_unavailable`: nobody can tell whether it was replaced.
   */
  update(id: string, change: (latest: LiveRecord | undefined) => Promise<LiveRecord>): Promise<void>;
};

/** Secrets that work once, by their hash. At most `maxEntries` of a kind: over that the oldest is forgotten. */
export type TicketStore = {
  put(kind: TicketKind, hash: string, text: string): Promise<void>;
  /** The text, for the first who asks; ServiceError `registry_unavailable` when nobody can tell who was first. */
  take(kind: TicketKind, hash: string): Promise<string | undefined>;
};

export type TicketKind = { readonly name: string; readonly lifetimeMs: number; readonly maxEntries: number };

/** Both the live records and those that have ended, so that two copies can be merged in any order. */
export class LiveRecords {
  readonly #now: () => number;
  readonly #live = new Map<string, LiveRecord>();
  readonly #ended = new Map<string, number>();
  readonly #endings = new Emitter<string>();

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get(id: string): LiveRecord | undefined {
    const record = this.#live.get(id);
    return record === undefined || this.#isOver(record.expiresAtS) ? undefined : record;
  }

  list(kind: string): readonly LiveRecord[] {
    return this.all().filter((record) => record.kind === kind);
  }

  all(): readonly LiveRecord[] {
    this.#forgetExpired();
    return [...this.#live.values()];
  }

  /** Ids, and until when each would have counted, in seconds since 1970. */
  ended(): readonly (readonly [id: string, expiresAtS: number])[] {
    this.#forgetExpired();
    return [...this.#ended];
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** False for a record that has ended: it does not come back. */
  put(record: LiveRecord): boolean {
    if (this.#ended.has(record.id)) return false;
    this.#live.set(record.id, record);
    return true;
  }

  end(id: string, expiresAtS: number): void {
    const wasLive = this.#live.delete(id);
    if (this.#ended.has(id)) return;
    this.#ended.set(id, expiresAtS);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_ENDED_RECORDS) break;
      this.#ended.delete(oldest);
    }
    if (wasLive) this.#endings.emit(id);
  }

  watch(listener: (id: string) => void): Disposable {
    return this.#endings.on(listener);
  }

  #forgetExpired(): void {
    for (const [id, { expiresAtS }] of this.#live) if (this.#isOver(expiresAtS)) this.#live.delete(id);
    for (const [id, expiresAtS] of this.#ended) if (this.#isOver(expiresAtS)) this.#ended.delete(id);
  }

  #isOver(expiresAtS: number): boolean {
    return this.#now() >= expiresAtS * 1000;
  }
}
