// The tables that several HQs share, in Redis (contract 6.8).
import { z } from "zod";
import { Emitter } from "../../lib/async/emitter.ts";
import type { Seal } from "../../lib/seal.ts";
import { PROBE_LEASE_MS, PROBE_LEASE_PASSED_MS, REPLICA_LIFETIME_MS } from "../../protocol/limits.ts";
import type { Lease, LeaseState } from "../health/health-check.ts";
import { type FollowedPart, pairsOf, type RedisFollower } from "./redis-follower.ts";
import {
  COMMIT,
  FIND,
  FIND_ALL,
  LEAVE,
  PASS,
  READ_REMOTES,
  REGISTRY_KEYS,
  type RunScript,
  type Script,
  TAKE,
} from "./redis-scripts.ts";
import type { RegistryTables, RemotesChange, TableChange, TableName } from "./tables.ts";

export type RedisTablesOptions = {
  /** Disposed of with the tables. */
  readonly follower: RedisFollower;
  /** The same for all HQs of the registry. */
  readonly seal: Seal;
  /** Identifies this HQ among them; new at every start. */
  readonly replicaId: string;
};

const { instance, revision, changes, remotes, tokens, keys } = REGISTRY_KEYS;
/** The scripts name a table by its number, from 1 on. */
const TABLES: readonly TableName[] = ["remotes", "tokens", "keys"];
const COMMIT_KEYS = [revision, changes, remotes, tokens, keys];
const REMOTES_NUMBER = 1;

const Pairs = z.array(z.string());
const Contents = z.tuple([z.int(), z.string(), Pairs]);
const Found = z.string().nullable();
const Changes = z.array(z.tuple([z.int(), z.string(), z.string(), z.string()]));

/** A change of this HQ takes effect when it comes back from Redis, so all HQs see the same changes in the same order. */
export class RedisTables implements RegistryTables, FollowedPart, AsyncDisposable {
  /** Held by the HQ that may remove remotes. */
  readonly lease: RedisLease;
  readonly #options: RedisTablesOptions;
  readonly #changes = new Emitter<RemotesChange>();
  /** All remotes, until listeners are told. */
  #read: ReadonlyMap<string, string> = new Map();
  #instanceId: string;

  constructor(options: RedisTablesOptions) {
    this.#options = options;
    this.#instanceId = options.replicaId;
    this.lease = new RedisLease(options.replicaId, options.follower.run);
    options.follower.add(this);
  }

  /** The id that all HQs of this registry show to remotes. Valid after `load`; changes if Redis loses it. */
  get instanceId(): string {
    return this.#instanceId;
  }

  get isConnected(): boolean {
    return this.#options.follower.isConnected;
  }

  /** Throws `start_failed`. */
  load(): Promise<void> {
    return this.#options.follower.start();
  }

  async get(table: TableName, id: string): Promise<string | undefined> {
    return Found.parse(await this.#options.follower.run(FIND, [REGISTRY_KEYS[table]], [id])) ?? undefined;
  }

  async all(table: TableName): Promise<ReadonlyMap<string, string>> {
    const found = await this.#options.follower.run(FIND_ALL, [REGISTRY_KEYS[table]], []);
    return new Map(pairsOf(Pairs.parse(found)));
  }

  async commit(all: readonly TableChange[]): Promise<boolean> {
    const listed = all.map(({ table, id, before = "", after = "" }): z.infer<typeof Changes>[number] => {
      return [TABLES.indexOf(table) + 1, id, before, after];
    });
    const [done] = await this.#options.follower.change(COMMIT, COMMIT_KEYS, [JSON.stringify(listed)]);
    return done === 1;
  }

  watch(listener: (change: RemotesChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  async read(run: RunScript): Promise<number> {
    const own = `${this.#instanceId}.${this.#options.seal.seal(this.#instanceId, this.#instanceId)}`;
    const [at, known, entries] = Contents.parse(
      await run(READ_REMOTES, [revision, instance, remotes], [own]),
    );
    this.#instanceId = this.#proven(known);
    this.#read = new Map(pairsOf(entries));
    return at;
  }

  apply({ tables = "[]" }: Readonly<Record<string, string>>): void {
    const ofRemotes = Changes.parse(JSON.parse(tables)).filter(([table]) => table === REMOTES_NUMBER);
    const entries = ofRemotes.map(([, id, , after]) => [id, after === "" ? undefined : after] as const);
    if (entries.length > 0) this.#changes.emit({ isWhole: false, entries: new Map(entries) });
  }

  ready(): void {
    this.#changes.emit({ isWhole: true, entries: this.#read });
    this.#read = new Map();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#options.follower.stop(() => this.lease.leave());
  }

  #proven(known: string): string {
    const [id = "", proof = ""] = known.split(".");
    if (this.#options.seal.open(id, proof) === id) return id;
    throw new Error(
      "it was made with another secret: give all HQs the same --jwt-secret-file, or remove its keys ttyhq:* to begin anew",
    );
  }
}

const LEASE_KEYS = [REGISTRY_KEYS.lease, REGISTRY_KEYS.replicas];
const Taken = z.enum(["own", "passed", "other"]);

/** Expires in Redis after PROBE_LEASE_MS, so an HQ that dies or loses Redis does not hold it longer. */
export class RedisLease implements Lease {
  readonly #replicaId: string;
  readonly #run: RunScript;

  constructor(replicaId: string, run: RunScript) {
    this.#replicaId = replicaId;
    this.#run = run;
  }

  async take(): Promise<LeaseState> {
    const taken = await this.#ask(TAKE, `${PROBE_LEASE_MS}`, `${REPLICA_LIFETIME_MS / 1000}`);
    return Taken.parse(taken ?? "other");
  }

  async pass(): Promise<boolean> {
    return (await this.#ask(PASS, `${PROBE_LEASE_PASSED_MS}`)) === 1;
  }

  /** Releases the lease when this HQ stops. Never rejects. */
  async leave(): Promise<void> {
    await this.#ask(LEAVE);
  }

  /** Undefined if Redis cannot be reached. */
  #ask(script: Script, ...values: readonly string[]): Promise<unknown> {
    return this.#run(script, LEASE_KEYS, [this.#replicaId, ...values]).catch(() => undefined);
  }
}
