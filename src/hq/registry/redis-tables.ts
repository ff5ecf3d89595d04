// The tables that several HQs share, in Redis (contract 6.8).
import { z } from "zod";
import { Emitter } from "../../lib/async/emitter.ts";
import type { Seal } from "../../lib/seal.ts";
import { PROBE_LEASE_MS, PROBE_LEASE_PASSED_MS, REPLICA_LIFETIME_MS } from "../../protocol/limits.ts";
import type { Lease } from "../health/health-check.ts";
import { RedisFollower, type RedisFollowerOptions } from "./redis-follower.ts";
import { pairsOf } from "./redis-link.ts";
import {
  COMMIT,
  FIND,
  FIND_ALL,
  LEAVE,
  PASS,
  READ,
  REGISTRY_KEYS,
  type RunScript,
  type Script,
  SEND,
  TAKE,
} from "./redis-scripts.ts";
import type { RegistryTables, TableChange, TableName, TableUpdate } from "./tables.ts";

export type RedisTablesOptions = RedisFollowerOptions & {
  /** The same for all HQs of the registry. */
  readonly seal: Seal;
  /** Identifies this HQ among them; new at every start. */
  readonly replicaId: string;
};

const { instance, revision, changes, remotes, records } = REGISTRY_KEYS;
/** The scripts name a table by its number, from 1 on. */
const TABLES: readonly TableName[] = ["remotes", "tokens", "keys", "records"];
const COMMIT_KEYS = [revision, changes, ...TABLES.map((table) => REGISTRY_KEYS[table])];

const Pairs = z.array(z.string()).transform((list) => new Map(pairsOf(list)));
const Contents = z.tuple([z.int(), z.string(), Pairs, Pairs]);
const Found = z.string().nullable();
const Changes = z.array(z.tuple([z.int(), z.string(), z.string(), z.string()]));

/** A change of this HQ takes effect when it comes back from Redis, so all HQs see the same changes in the same order. */
export class RedisTables implements RegistryTables, AsyncDisposable {
  /** Held by the HQ that may remove remotes. */
  readonly lease: ReturnType<typeof redisLease>;
  readonly run: RunScript;
  readonly #seal: Seal;
  readonly #follower: RedisFollower;
  readonly #updates = new Emitter<TableUpdate>();
  readonly #messages = new Emitter<string>();
  /** What was read over a new connection, until listeners are told. */
  #read: readonly TableUpdate[] = [];
  #instanceId: string;

  constructor(options: RedisTablesOptions) {
    this.#seal = options.seal;
    this.#instanceId = options.replicaId;
    this.#follower = new RedisFollower(options, {
      read: (run) => this.#readAll(run),
      apply: (fields) => this.#apply(fields),
      ready: () => {
        for (const update of this.#read) this.#updates.emit(update);
        this.#read = [];
      },
    });
    this.run = this.#follower.run;
    this.lease = redisLease(options.replicaId, this.run);
  }

  /** The id that all HQs of this registry show to remotes. Valid after `load`; changes if Redis loses it. */
  get instanceId(): string {
    return this.#instanceId;
  }

  get isConnected(): boolean {
    return this.#follower.isConnected;
  }

  /** Throws `start_failed`. */
  load(): Promise<void> {
    return this.#follower.start();
  }

  async get(table: TableName, id: string): Promise<string | undefined> {
    return Found.parse(await this.run(FIND, [REGISTRY_KEYS[table]], [id])) ?? undefined;
  }

  async all(table: TableName): Promise<ReadonlyMap<string, string>> {
    return Pairs.parse(await this.run(FIND_ALL, [REGISTRY_KEYS[table]], []));
  }

  async commit(all: readonly TableChange[]): Promise<boolean> {
    const listed = all.map(({ table, id, before = "", after = "" }): z.infer<typeof Changes>[number] => {
      return [TABLES.indexOf(table) + 1, id, before, after];
    });
    const [done] = await this.#follower.change(COMMIT, COMMIT_KEYS, [JSON.stringify(listed)]);
    return done === 1;
  }

  watch(listener: (update: TableUpdate) => void): Disposable {
    return this.#updates.on(listener);
  }

  /** To all HQs that are connected now. Rejects with `registry_unavailable`. */
  async send(message: string): Promise<void> {
    await this.#follower.change(SEND, [revision, changes], [message]);
  }

  onMessage(listener: (message: string) => void): Disposable {
    return this.#messages.on(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#follower.stop(() => this.lease.leave());
  }

  async #readAll(run: RunScript): Promise<number> {
    const own = `${this.#instanceId}.${this.#seal.seal(this.#instanceId, this.#instanceId)}`;
    const answer = await run(READ, [revision, instance, remotes, records], [own]);
    const [at, known, ofRemotes, ofRecords] = Contents.parse(answer);
    this.#instanceId = this.#proven(known);
    this.#read = [
      { table: "remotes", isWhole: true, entries: ofRemotes },
      { table: "records", isWhole: true, entries: ofRecords },
    ];
    return at;
  }

  #apply({ tables = "[]", message }: Readonly<Record<string, string>>): void {
    if (message !== undefined) this.#messages.emit(message);
    for (const [number, changed] of Map.groupBy(Changes.parse(JSON.parse(tables)), ([number]) => number)) {
      const entries = new Map(changed.map(([, id, , after]) => [id, after === "" ? undefined : after]));
      const table = TABLES[number - 1];
      if (table !== undefined) this.#updates.emit({ table, isWhole: false, entries });
    }
  }

  #proven(known: string): string {
    const [id = "", proof = ""] = known.split(".");
    if (this.#seal.open(id, proof) === id) return id;
    throw new Error(
      "its data is sealed with another secret: give all HQs the same --jwt-secret-file, or remove its keys ttyhq:* to start empty",
    );
  }
}

const LEASE_KEYS = [REGISTRY_KEYS.lease, REGISTRY_KEYS.replicas];
const Taken = z.enum(["own", "passed", "other"]);

/**
 * Expires in Redis after PROBE_LEASE_MS, so an HQ that dies or loses Redis does not hold it longer. `leave` releases it when
 * this HQ stops, and never rejects.
 */
function redisLease(replicaId: string, run: RunScript): Lease & { leave(): Promise<unknown> } {
  const ask = (script: Script, ...values: readonly string[]): Promise<unknown> =>
    run(script, LEASE_KEYS, [replicaId, ...values]).catch(() => undefined);
  return {
    take: async () => {
      const taken = await ask(TAKE, `${PROBE_LEASE_MS}`, `${REPLICA_LIFETIME_MS / 1000}`);
      return Taken.parse(taken ?? "other");
    },
    pass: async () => (await ask(PASS, `${PROBE_LEASE_PASSED_MS}`)) === 1,
    leave: () => ask(LEAVE),
  };
}
