// Records on which access depends (logins, share links): each is valid while it exists.
import { MAX_ENDED_RECORDS } from "../../protocol/limits.ts";
import { Emitter } from "../async/emitter.ts";
import type { Seal } from "../seal.ts";

export type LiveRecord = {
  /** Never reused. */
  readonly id: string;
  /** `login`, `share`. The owner of each kind bounds it. */
  readonly kind: string;
  readonly expiresAtS: number;
  /** JSON. */
  readonly value: unknown;
};

/** The records of one server, or of a group of HQs. */
export type RecordStore = {
  /** The audience (`aud`) of its tokens: the server or the group of HQs. */
  readonly instanceId: string;
  /** From the local copy. */
  get(id: string): LiveRecord | undefined;
  /** Asks the store if the record is unknown here. ServiceError `registry_unavailable`. */
  find(id: string): Promise<LiveRecord | undefined>;
  list(kind: string): readonly LiveRecord[];
  /** Adds or replaces a record that has not ended; valid here at once. Rejects while it is only known here: it is retried. */
  put(record: LiveRecord): Promise<void>;
  /** Ends records: here at once, everywhere when it resolves. Rejects as `put`. */
  end(records: readonly Pick<LiveRecord, "id" | "expiresAtS">[]): Promise<void>;
  /** Called with the id of each record that ends before it expires. */
  watch(listener: (id: string) => void): Disposable;
  readonly tickets: TicketStore;
};

/** Failed logins of a group of HQs, each of which counts them. */
export type FailedLogins = {
  /** Tells the others, as soon as that is possible. */
  tell(failure: string): void;
  /** Called with each failure at another HQ. */
  watch(listener: (failure: string, agoMs: number) => void): Disposable;
};

/** Calls between the HQs of a group. */
export type GroupCalls = {
  readonly ownId: string;
  /** Sets the function that answers the calls of others. It must not reject. */
  serve(answer: (request: string) => Promise<string>): void;
  /** Asks another HQ. Rejects with a timeout after `timeoutMs`, and with ServiceError `registry_unavailable`. */
  call(to: string, request: string, timeoutMs: number): Promise<string>;
};

/** Calls of this minute at all HQs of a group. */
export type SharedCounts = {
  /** Resolves with the calls of all HQs by the same callers. `registry_unavailable`: they may be added or not. */
  add(
    kind: "api" | "sessions",
    calls: ReadonlyMap<string, number>,
    /** `leftMs`: of the minute. */
  ): Promise<{ readonly total: ReadonlyMap<string, number>; readonly leftMs: number }>;
};

/** A line of `SharedLines`. `id`: `MS-NUMBER`, its time since 1970. */
export type SharedLine = { readonly id: string; readonly from: string; readonly text: string };

/** Lines that each HQ of a group writes and all can read; the oldest are dropped. */
export type SharedLines = {
  /** `from`: the host of this HQ. Resolves when stored. Rejects with `registry_unavailable`: they may be stored or not. */
  append(from: string, lines: readonly string[]): Promise<void>;
  /** At most `count` lines before the id (without it, up to the last one), newest first. Rejects as `append`. */
  before(id: string | undefined, count: number): Promise<readonly SharedLine[]>;
};

/** Shared by a group of HQs. */
export type SharedRecordStore = RecordStore & {
  /** With the secret that the group has in common. */
  readonly seal: Seal;
  readonly failedLogins: FailedLogins;
  readonly calls: GroupCalls;
  readonly auditLines: SharedLines;
  readonly callCounts: SharedCounts;
  /** From the store; from the local copy while the store is out of reach. */
  latest(id: string): Promise<LiveRecord | undefined>;
  /** Atomic: `change` runs again if another HQ was faster. ServiceError `registry_unavailable`: the outcome is unknown. */
  update(id: string, change: (latest: LiveRecord | undefined) => Promise<LiveRecord>): Promise<void>;
};

export type UpdatableRecords = Pick<
  SharedRecordStore,
  "get" | "find" | "list" | "put" | "end" | "watch" | "latest" | "update"
>;

/** Single-use secrets by hash. Over `maxEntries` of a kind the oldest is dropped. */
export type TicketStore = {
  put(kind: TicketKind, hash: string, text: string): Promise<void>;
  /** Returns the text once. ServiceError `registry_unavailable` if another HQ may have taken it. */
  take(kind: TicketKind, hash: string): Promise<string | undefined>;
};

export type TicketKind = { readonly name: string; readonly lifetimeMs: number; readonly maxEntries: number };

/** Stores a record that is handed out only then: if it cannot be stored, it ends. Rejects as `put`. */
export async function putOrEnd(records: Pick<RecordStore, "put" | "end">, record: LiveRecord): Promise<void> {
  try {
    await records.put(record);
  } catch (error) {
    await records.end([record]).catch(() => undefined);
    throw error;
  }
}

/** Records that end with the process. */
export function memoryRecords(now: () => number): UpdatableRecords {
  return localRecords(new LiveRecords(now), async () => {});
}

/** Records of this process alone. `save` stores them after a change. */
export function localRecords(records: LiveRecords, save: () => Promise<void>): UpdatableRecords {
  const get = (id: string): LiveRecord | undefined => records.get(id);
  const put = async (record: LiveRecord): Promise<void> => {
    if (records.put(record)) await save();
  };
  return {
    ...{ get, put },
    find: async (id) => get(id),
    latest: async (id) => get(id),
    list: (kind) => records.list(kind),
    end: async (all) => {
      for (const { id, expiresAtS } of all) records.end(id, expiresAtS);
      if (all.length > 0) await save();
    },
    update: async (id, change) => await put(await change(get(id))),
    watch: (listener) => records.watch(listener),
  };
}

/** Live and ended records, so that copies can be merged in any order. */
export class LiveRecords {
  readonly #now: () => number;
  readonly #live = new Map<string, LiveRecord>();
  readonly #ended = new Map<string, number>();
  readonly #endings = new Emitter<string>();

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

  /** Ids, and when each would have expired, in seconds since 1970. */
  ended(): readonly (readonly [id: string, expiresAtS: number])[] {
    this.#forgetExpired();
    return [...this.#ended];
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** False if the record has ended. */
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
