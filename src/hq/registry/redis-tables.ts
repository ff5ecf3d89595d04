// The tables that several HQs share, in Redis (contract 6.8), and the connection to it.
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { formatRedisAddress, type RedisAddress } from "../../lib/net/redis-address.ts";
import type { Seal } from "../../lib/seal.ts";
import type { Log } from "../../log.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";
import {
  PROBE_LEASE_MS,
  PROBE_LEASE_PASSED_MS,
  REGISTRY_RETRY_MAX_MS,
  REGISTRY_TIMEOUT_MS,
  REPLICA_LIFETIME_MS,
  RETRY_FIRST_MS,
} from "../../protocol/limits.ts";
import type { Lease } from "../health/health-check.ts";
import { pairsOf, RedisLink, type StreamEntry } from "./redis-link.ts";
import {
  COMMIT,
  FIND,
  FIND_ALL,
  LEAVE,
  PASS,
  READ,
  REGISTRY_KEYS,
  REVISION,
  type RunScript,
  type Script,
  SEND,
  TAKE,
} from "./redis-scripts.ts";
import type { RegistryTables, TableChange, TableName, TableUpdate } from "./tables.ts";

export type RedisTablesOptions = {
  readonly address: RedisAddress;
  /** Certificate authorities that are trusted besides the public ones, PEM. */
  readonly ca: Uint8Array | undefined;
  /** The same for all HQs of the registry. */
  readonly seal: Seal;
  /** Identifies this HQ among them; new at every start. */
  readonly replicaId: string;
  readonly log: Pick<Log, "info" | "warn">;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
};

const { instance, revision, changes, remotes, records } = REGISTRY_KEYS;
/** The scripts name a table by its number, from 1 on. */
const TABLES: readonly TableName[] = ["remotes", "tokens", "keys", "records"];
const COMMIT_KEYS = [revision, changes, ...TABLES.map((table) => REGISTRY_KEYS[table])];

const FORGOTTEN = "its data was lost or replaced";
const Pairs = z.array(z.string()).transform((list) => new Map(pairsOf(list)));
const Contents = z.tuple([z.int(), z.string(), Pairs, Pairs]);
const Found = z.string().nullable();
const Changed = z.tuple([z.int()], z.unknown());
const Changes = z.array(z.tuple([z.int(), z.string(), z.string(), z.string()]));
const Revision = z.int();

/**
 * A change of this HQ takes effect when it comes back from Redis, so all HQs see the same changes in the same order. Each
 * change increments the revision. While Redis is unreachable, calls reject at once; the first one that notices it rejects
 * within REGISTRY_TIMEOUT_MS. After a reconnect, or a change that Redis refused, everything is read anew.
 */
export class RedisTables implements RegistryTables, AsyncDisposable {
  /** Held by the HQ that may remove remotes. */
  readonly lease: ReturnType<typeof redisLease>;
  readonly #options: RedisTablesOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #updates = new Emitter<TableUpdate>();
  readonly #messages = new Emitter<string>();
  /** The revision has changed. */
  readonly #progress = new Emitter<void>();
  #instanceId: string;
  #revision = 0;
  #link: RedisLink | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(options: RedisTablesOptions) {
    const { random, replicaId } = options;
    this.#options = options;
    this.#instanceId = replicaId;
    this.#backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: REGISTRY_RETRY_MAX_MS, random });
    this.lease = redisLease(replicaId, this.run);
  }

  /** The id that all HQs of this registry show to remotes. Valid after `load`; changes if Redis loses it. */
  get instanceId(): string {
    return this.#instanceId;
  }

  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  /** Throws `start_failed`. */
  async load(): Promise<void> {
    try {
      this.#following = this.#follow(await this.#connect());
    } catch (error) {
      const where = formatRedisAddress(this.#options.address);
      throw new ServiceError("start_failed", `cannot use the registry at ${where}: ${errorMessage(error)}`);
    }
  }

  /** Rejects with `registry_unavailable`. */
  readonly run: RunScript = async (script, keys, values) => {
    try {
      if (this.#link === undefined) throw new Error("there is no connection");
      return await this.#link.run(script, keys, values);
    } catch (cause) {
      throw unavailable(cause);
    }
  };

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
    const [done] = await this.#change(COMMIT, COMMIT_KEYS, [JSON.stringify(listed)]);
    return done === 1;
  }

  watch(listener: (update: TableUpdate) => void): Disposable {
    return this.#updates.on(listener);
  }

  /** To all HQs that are connected now. Rejects with `registry_unavailable`. */
  async send(message: string): Promise<void> {
    await this.#change(SEND, [revision, changes], [message]);
  }

  onMessage(listener: (message: string) => void): Disposable {
    return this.#messages.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.lease.leave();
    this.#link?.[Symbol.dispose]();
    await this.#following;
  }

  /**
   * Runs a script that returns a revision and results. Returns the results once that revision has arrived here. Rejects
   * with `registry_unavailable`: it is not known whether the change was made.
   */
  async #change(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown[]> {
    const [link, before] = [this.#link, this.#revision];
    try {
      const [at, ...more] = Changed.parse(await this.run(script, keys, values));
      if (at < before) throw new Error(FORGOTTEN);
      await this.#reached(at);
      return more;
    } catch (error) {
      const problem = error instanceof ServiceError ? error : unavailable(error);
      // The reconnect reads everything anew.
      link?.fail(errorMessage(problem.cause));
      throw problem;
    }
  }

  async #follow(first: RedisLink): Promise<void> {
    const { log, address } = this.#options;
    const registry = formatRedisAddress(address);
    for (let link: RedisLink | undefined = first; link !== undefined; link = await this.#reconnect()) {
      if (link !== first) log.info({ registry }, "registry is back");
      const reason = await this.#readChanges(link);
      if (!this.#stop.signal.aborted) {
        log.warn({ registry, reason }, "registry is unreachable: continuing with the local copy");
      }
    }
  }

  /** Returns the reason when the link fails. */
  async #readChanges(link: RedisLink): Promise<string> {
    try {
      for (;;) {
        const entries = await link.readAfter(`${this.#revision}-0`, REGISTRY_KEYS.changes);
        this.#backoff.reset();
        for (const entry of entries) this.#apply(entry);
        if (entries.length === 0) await this.#checkRevision(link);
      }
    } catch (error) {
      return errorMessage(error);
    } finally {
      this.#link = undefined;
      link[Symbol.dispose]();
    }
  }

  /** Undefined after the disposal. */
  async #reconnect(): Promise<RedisLink | undefined> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
      try {
        return await this.#connect();
      } catch {
        // The loss was logged already.
      }
    }
    return undefined;
  }

  /** Reads everything over a new link, and tells it to the listeners. */
  async #connect(): Promise<RedisLink> {
    const { address, ca, seal } = this.#options;
    const link = await RedisLink.open(address, ca, this.#stop.signal);
    try {
      const own = `${this.#instanceId}.${seal.seal(this.#instanceId, this.#instanceId)}`;
      const answer = await link.run(READ, [revision, changes, instance, remotes, records], [own]);
      const [at, known, ofRemotes, ofRecords] = Contents.parse(answer);
      this.#instanceId = this.#proven(known);
      // After the disposal nobody would close this link.
      this.#stop.signal.throwIfAborted();
      this.#revision = at;
      this.#link = link;
      this.#progress.emit();
      this.#updates.emit({ table: "remotes", isWhole: true, entries: ofRemotes });
      this.#updates.emit({ table: "records", isWhole: true, entries: ofRecords });
      return link;
    } catch (error) {
      this.#link = undefined;
      link[Symbol.dispose]();
      throw error;
    }
  }

  #proven(known: string): string {
    const [id = "", proof = ""] = known.split(".");
    if (this.#options.seal.open(id, proof) === id) return id;
    throw new Error(
      "its data is sealed with another secret: give all HQs the same --jwt-secret-file, or remove its keys ttyhq:* to start empty",
    );
  }

  /** No changes for a while may also mean that Redis was replaced by an empty one, or refuses to write. */
  async #checkRevision(link: RedisLink): Promise<void> {
    const at = Revision.parse(await link.run(REVISION, [REGISTRY_KEYS.revision], []));
    if (at < this.#revision) throw new Error(FORGOTTEN);
  }

  #apply([entryId, fields]: StreamEntry): void {
    const at = Number.parseInt(entryId, 10);
    if (at !== this.#revision + 1) throw new Error("changes were missed");
    this.#revision = at;
    const { tables = "[]", message } = Object.fromEntries(pairsOf(fields));
    if (message !== undefined) this.#messages.emit(message);
    for (const [number, changed] of Map.groupBy(Changes.parse(JSON.parse(tables)), ([number]) => number)) {
      const entries = new Map(changed.map(([, id, , after]) => [id, after === "" ? undefined : after]));
      const table = TABLES[number - 1];
      if (table !== undefined) this.#updates.emit({ table, isWhole: false, entries });
    }
    this.#progress.emit();
  }

  /** Resolves when the changes up to that revision have been applied. */
  async #reached(at: number): Promise<void> {
    if (this.#revision >= at) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listening = this.#progress.on(() => {
      if (this.#revision >= at) resolve();
    });
    await withDeadline(promise, REGISTRY_TIMEOUT_MS, "the arrival of a change of this HQ");
  }
}

function unavailable(cause: unknown): ServiceError {
  const message = "the shared registry is unreachable: try again in a moment";
  return new ServiceError("registry_unavailable", message, { cause });
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
