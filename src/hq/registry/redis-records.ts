// Logins, share links and tickets of a group of HQs: stored in Redis, sealed with their common secret.
import { z } from "zod";
import {
  type LiveRecord,
  LiveRecords,
  type SharedRecordStore,
  type TicketKind,
  type TicketStore,
} from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { type FollowedPart, pairsOf, type RedisFollower } from "./redis-follower.ts";
import {
  END_RECORD,
  FIND,
  PUT_RECORD,
  PUT_TICKET,
  READ_RECORDS,
  REGISTRY_KEYS,
  type RunScript,
  type Script,
  TAKE_TICKET,
} from "./redis-scripts.ts";

export type RedisRecordsOptions = {
  readonly follower: RedisFollower;
  readonly seal: Seal;
  readonly instanceId: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

const { revision, changes, records, recordTimes, endedRecords } = REGISTRY_KEYS;
const KEYS = [revision, changes, records, recordTimes, endedRecords];

/** Alternating ids and values. */
const Contents = z.tuple([z.int(), z.array(z.string()), z.array(z.string())]);
const Found = z.string().nullable();
const Kept = z.object({ kind: z.string(), expiresAtS: z.number(), value: z.unknown() });

/**
 * Each HQ has a copy of every record. While Redis is unreachable, each continues with its copy. Afterwards the copies are
 * merged: a record that has ended at any HQ has ended at all.
 */
export class RedisRecords implements SharedRecordStore, FollowedPart {
  readonly tickets: TicketStore;
  readonly #options: RedisRecordsOptions;
  readonly #copy: LiveRecords;

  constructor(options: RedisRecordsOptions) {
    this.#options = options;
    this.#copy = new LiveRecords(options.now);
    this.tickets = redisTickets(options);
    options.follower.add(this);
  }

  get instanceId(): string {
    return this.#options.instanceId();
  }

  get(id: string): LiveRecord | undefined {
    return this.#copy.get(id);
  }

  /** Asks Redis for a record whose change may not have arrived here yet. */
  async find(id: string): Promise<LiveRecord | undefined> {
    const known = this.#copy.get(id);
    if (known !== undefined || this.#copy.hasEnded(id)) return known;
    const text = await this.#sealed(id);
    if (text !== undefined) this.#put(id, text);
    return this.#copy.get(id);
  }

  async latest(id: string): Promise<LiveRecord | undefined> {
    const text = await this.#sealed(id).catch(() => undefined);
    return text === undefined ? this.#copy.get(id) : this.#mustOpen(id, text);
  }

  async update(id: string, change: (latest: LiveRecord | undefined) => Promise<LiveRecord>): Promise<void> {
    for (let isDone = false; !isDone; ) {
      const text = await this.#sealed(id);
      // Redis may have lost the record and not received it again yet.
      const record = await change(text === undefined ? this.#copy.get(id) : this.#mustOpen(id, text));
      const [done] = await this.#change(PUT_RECORD, [...this.#written(record), text ?? ""]);
      isDone = done === 1;
    }
  }

  list(kind: string): readonly LiveRecord[] {
    return this.#copy.list(kind);
  }

  async put(record: LiveRecord): Promise<void> {
    if (this.#copy.put(record)) await this.#change(PUT_RECORD, this.#written(record));
  }

  async end(all: readonly Pick<LiveRecord, "id" | "expiresAtS">[]): Promise<void> {
    for (const { id, expiresAtS } of all) this.#copy.end(id, expiresAtS);
    await Promise.all(all.map(({ id, expiresAtS }) => this.#change(END_RECORD, [id, `${expiresAtS}`])));
  }

  watch(listener: (id: string) => void): Disposable {
    return this.#copy.watch(listener);
  }

  /** Merges Redis and the copy in both directions. */
  async read(run: RunScript): Promise<number> {
    const [at, live, ended] = Contents.parse(await run(READ_RECORDS, KEYS, []));
    const [there, endedThere] = [new Map(pairsOf(live)), new Map(pairsOf(ended))];
    for (const [id, expiresAtS] of endedThere) this.#copy.end(id, Number(expiresAtS));
    for (const [id, text] of there) this.#put(id, text);
    const ownEnded = this.#copy.ended().filter(([id]) => !endedThere.has(id));
    const own = this.#copy.all().filter(({ id }) => !there.has(id));
    await Promise.all([
      ...ownEnded.map(([id, expiresAtS]) => run(END_RECORD, KEYS, [id, `${expiresAtS}`])),
      // Another HQ may have stored a newer version meanwhile.
      ...own.map((record) => run(PUT_RECORD, KEYS, [...this.#written(record), ""])),
    ]);
    return at;
  }

  apply({ record: id, sealed = "", expiresAtS = "" }: Readonly<Record<string, string>>): void {
    if (id === undefined) return;
    if (sealed === "") this.#copy.end(id, Number(expiresAtS));
    else this.#put(id, sealed);
  }

  ready(): void {}

  /** Ignores a record that was sealed with another secret. */
  #put(id: string, text: string): void {
    const record = this.#opened(id, text);
    if (record !== undefined) this.#copy.put(record);
  }

  #opened(id: string, text: string): LiveRecord | undefined {
    const opened = this.#options.seal.open(sealOf("record", id), text);
    return opened === undefined ? undefined : { id, ...Kept.parse(JSON.parse(opened)) };
  }

  #mustOpen(id: string, text: string): LiveRecord {
    const record = this.#opened(id, text);
    if (record !== undefined) return record;
    throw new ServiceError(
      "internal_error",
      `the record ${id} in the registry was sealed with another secret`,
    );
  }

  async #sealed(id: string): Promise<string | undefined> {
    return Found.parse(await this.#options.follower.run(FIND, [records], [id])) ?? undefined;
  }

  #written({ id, kind, expiresAtS, value }: LiveRecord): readonly string[] {
    const text = JSON.stringify({ kind, expiresAtS, value });
    return [id, `${expiresAtS}`, this.#options.seal.seal(sealOf("record", id), text)];
  }

  #change(script: Script, values: readonly string[]): Promise<unknown[]> {
    return this.#options.follower.change(script, KEYS, values);
  }
}

/** Redis makes sure that no ticket is taken twice, at any HQ. */
function redisTickets({ follower, seal }: Pick<RedisRecordsOptions, "follower" | "seal">): TicketStore {
  return {
    put: async (kind, hash, text) => {
      const sealed = seal.seal(sealOf(kind.name, hash), text);
      const values = [hash, sealed, `${kind.lifetimeMs}`, `${kind.maxEntries}`];
      await follower.run(PUT_TICKET, keysOf(kind), values);
    },
    take: async (kind, hash) => {
      const sealed = Found.parse(await follower.run(TAKE_TICKET, keysOf(kind), [hash]));
      return sealed === null ? undefined : seal.open(sealOf(kind.name, hash), sealed);
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
