// Logins, share links, tickets, audit lines and call counts of a group of HQs: stored in Redis, sealed with their common secret.
import { hash } from "node:crypto";
import { z } from "zod";
import {
  type FailedLogins,
  type GroupCalls,
  type LiveRecord,
  LiveRecords,
  type SharedCounts,
  type SharedLine,
  type SharedLines,
  type SharedRecordStore,
  type TicketKind,
  type TicketStore,
} from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_SHARED_AUDIT_LINES } from "../../protocol/limits.ts";
import { RedisFailedLogins } from "./redis-failed-logins.ts";
import { pairsOf } from "./redis-link.ts";
import {
  APPEND_LINES,
  COUNT_CALLS,
  LINES_BEFORE,
  PUT_TICKET,
  REGISTRY_KEYS,
  TAKE_TICKET,
} from "./redis-scripts.ts";
import type { RedisTables } from "./redis-tables.ts";
import { ReplicaCalls } from "./replica-calls.ts";
import type { TableChange, TableUpdate } from "./tables.ts";

export type RedisRecordsOptions = {
  readonly tables: RedisTables;
  readonly seal: Seal;
  /** As of the tables. */
  readonly replicaId: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** At most this often one HQ removes expired records from Redis, and at most so many. */
const SWEEP_INTERVAL_MS = 60_000;
const MAX_SWEPT = 500;

/** A record; of an ended one only its expiry. */
const Kept = z.union([
  z.object({ kind: z.string(), expiresAtS: z.number(), value: z.unknown() }),
  z.object({ kind: z.undefined().optional(), expiresAtS: z.number() }),
]);
type Kept = z.infer<typeof Kept>;
const Found = z.string().nullable();
const AuditLine = z.object({ from: z.string(), text: z.string() });
const AUDIT_SEAL = "audit line";
const Counted = z.tuple([z.number()], z.number());

/**
 * Each HQ has a copy of every record. While Redis is unreachable, each continues with its copy. Afterwards the copies are
 * merged: a record that has ended at any HQ has ended at all.
 */
export class RedisRecords implements SharedRecordStore {
  readonly tickets: TicketStore;
  readonly failedLogins: FailedLogins;
  readonly calls: GroupCalls;
  readonly auditLines: SharedLines;
  readonly callCounts: SharedCounts;
  readonly seal: Seal;
  readonly #options: RedisRecordsOptions;
  readonly #copy: LiveRecords;
  readonly #stored = new Map<string, { readonly text: string; readonly hasEnded: boolean }>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(options: RedisRecordsOptions) {
    this.#options = options;
    this.seal = options.seal;
    this.#copy = new LiveRecords(options.now);
    this.tickets = redisTickets(options);
    this.failedLogins = new RedisFailedLogins(options);
    this.calls = new ReplicaCalls(options);
    this.auditLines = redisAuditLines(options);
    this.callCounts = redisCounts(options);
    options.tables.watch((update) => this.#updated(update));
  }

  get instanceId(): string {
    return this.#options.tables.instanceId;
  }

  get(id: string): LiveRecord | undefined {
    return this.#copy.get(id);
  }

  /** Asks Redis for a record whose change may not have arrived here yet. */
  async find(id: string): Promise<LiveRecord | undefined> {
    const known = this.#copy.get(id);
    if (known !== undefined || this.#copy.hasEnded(id)) return known;
    const text = await this.#options.tables.get("records", id);
    if (text !== undefined) this.#hear(id, text);
    return this.#copy.get(id);
  }

  async latest(id: string): Promise<LiveRecord | undefined> {
    const text = await this.#options.tables.get("records", id).catch(() => undefined);
    return this.#latest(id, text);
  }

  async update(id: string, change: (latest: LiveRecord | undefined) => Promise<LiveRecord>): Promise<void> {
    for (;;) {
      const text = await this.#options.tables.get("records", id);
      const record = await change(this.#latest(id, text));
      if (this.#copy.hasEnded(id) || (await this.#commit(this.#change(id, text, record)))) return;
    }
  }

  list(kind: string): readonly LiveRecord[] {
    return this.#copy.list(kind);
  }

  async put(record: LiveRecord): Promise<void> {
    if (!this.#copy.put(record)) return;
    this.#sweep();
    await this.#store(record.id, record);
  }

  async end(all: readonly Pick<LiveRecord, "id" | "expiresAtS">[]): Promise<void> {
    for (const { id, expiresAtS } of all) this.#copy.end(id, expiresAtS);
    await Promise.all(all.map(({ id, expiresAtS }) => this.#store(id, { expiresAtS })));
  }

  watch(listener: (id: string) => void): Disposable {
    return this.#copy.watch(listener);
  }

  #updated({ table, isWhole, entries }: TableUpdate): void {
    if (table !== "records") return;
    if (isWhole) this.#stored.clear();
    for (const [id, text] of entries) this.#hear(id, text);
    // If that fails, it is repeated after the reconnect.
    if (isWhole) void this.#merge().catch(() => undefined);
  }

  /** Ignores an entry that was sealed with another secret or has another form. */
  #hear(id: string, text: string | undefined): void {
    const kept = text === undefined ? undefined : this.#opened(id, text);
    if (text === undefined) this.#stored.delete(id);
    else this.#stored.set(id, { text, hasEnded: kept !== undefined && kept.kind === undefined });
    if (kept === undefined) return;
    if (kept.kind !== undefined) this.#copy.put({ id, ...kept });
    else this.#copy.end(id, kept.expiresAtS);
  }

  /** Stores own records that Redis does not have, and own ends. */
  async #merge(): Promise<void> {
    const own = this.#copy.all().filter(({ id }) => !this.#stored.has(id));
    const ended = this.#copy.ended().filter(([id]) => this.#stored.get(id)?.hasEnded !== true);
    await Promise.all([
      ...ended.map(([id, expiresAtS]) => this.#store(id, { expiresAtS })),
      // Another HQ may have stored a newer version meanwhile.
      ...own.map((record) => this.#commit(this.#change(record.id, undefined, record))),
    ]);
  }

  /** Replaces any entry of the record; an ended record stays ended. */
  async #store(id: string, kept: Kept): Promise<void> {
    let before = this.#stored.get(id)?.text;
    while (kept.kind === undefined || !this.#copy.hasEnded(id)) {
      if (await this.#commit(this.#change(id, before, kept))) return;
      before = await this.#options.tables.get("records", id);
    }
  }

  #sweep(): void {
    const now = this.#options.now();
    if (now - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    this.#sweptAt = now;
    const valid = new Set([...this.#copy.all().map(({ id }) => id), ...this.#copy.ended().map(([id]) => id)]);
    const expired = [...this.#stored].filter(([id]) => !valid.has(id)).slice(0, MAX_SWEPT);
    if (expired.length === 0) return;
    const changes = expired.map(([id, { text }]) => this.#change(id, text, undefined));
    // If another HQ was faster, the rest is removed the next time.
    void this.#commit(...changes).catch(() => false);
  }

  #latest(id: string, text: string | undefined): LiveRecord | undefined {
    // Redis may have lost the record and not received it again yet.
    if (text === undefined) return this.#copy.get(id);
    const kept = this.#opened(id, text);
    if (kept !== undefined) return kept.kind === undefined ? undefined : { id, ...kept };
    throw new ServiceError(
      "internal_error",
      `the record ${id} in the registry was sealed with another secret or by another version`,
    );
  }

  #opened(id: string, text: string): Kept | undefined {
    return this.#options.seal.openJson(sealOf("record", id), text, Kept);
  }

  #change(id: string, before: string | undefined, kept: Kept | undefined): TableChange {
    const after = kept && this.#options.seal.seal(sealOf("record", id), JSON.stringify(Kept.parse(kept)));
    return { table: "records", id, before, after };
  }

  #commit(...changes: readonly TableChange[]): Promise<boolean> {
    return this.#options.tables.commit(changes);
  }
}

/** Redis makes sure that no ticket is taken twice, at any HQ. */
function redisTickets({ tables, seal }: RedisRecordsOptions): TicketStore {
  return {
    put: async (kind, hash, text) => {
      const sealed = seal.seal(sealOf(kind.name, hash), text);
      const values = [hash, sealed, `${kind.lifetimeMs}`, `${kind.maxEntries}`];
      await tables.run(PUT_TICKET, keysOf(kind), values);
    },
    take: async (kind, hash) => {
      const sealed = Found.parse(await tables.run(TAKE_TICKET, keysOf(kind), [hash]));
      return sealed === null ? undefined : seal.open(sealOf(kind.name, hash), sealed);
    },
  };
}

/** The audit lines of all HQs, in a stream. */
function redisAuditLines({ tables, seal }: RedisRecordsOptions): SharedLines {
  const keys = [REGISTRY_KEYS.audit];
  const opened = (id: string, sealed: string): SharedLine | undefined => {
    const line = seal.openJson(AUDIT_SEAL, sealed, AuditLine);
    return line && { id, ...line };
  };
  return {
    append: async (from, lines) => {
      const sealed = lines.map((text) => seal.seal(AUDIT_SEAL, JSON.stringify({ from, text })));
      await tables.run(APPEND_LINES, keys, [`${MAX_SHARED_AUDIT_LINES}`, ...sealed]);
    },
    before: async (id = "+", count) => {
      const found = z.array(z.string()).parse(await tables.run(LINES_BEFORE, keys, [id, `${count}`]));
      return pairsOf(found).flatMap(([at, sealed]) => opened(at, sealed) ?? []);
    },
  };
}

/** The calls of a minute at all HQs, in hashes. */
function redisCounts({ tables }: RedisRecordsOptions): SharedCounts {
  return {
    add: async (kind, calls) => {
      const values = [...calls].flatMap(([caller, count]) => [
        hash("sha256", caller, "base64url"),
        `${count}`,
      ]);
      const answer = await tables.run(COUNT_CALLS, [`${REGISTRY_KEYS.calls}:${kind}`], values);
      const [leftMs, ...all] = Counted.parse(answer);
      return { leftMs, total: new Map([...calls.keys()].map((caller, index) => [caller, all[index] ?? 0])) };
    },
  };
}

function keysOf({ name }: TicketKind): readonly string[] {
  return [`${REGISTRY_KEYS.tickets}:${name}`, `${REGISTRY_KEYS.ticketTimes}:${name}`];
}

/** Binds a seal to its kind and id, so that it is not valid for another record. */
function sealOf(kind: string, id: string): string {
  return `${kind}:${id}`;
}
