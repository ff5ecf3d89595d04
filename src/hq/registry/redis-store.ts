// The registry store that several HQs share, in Redis (contract 6.8).
import { z } from "zod";
import { Emitter } from "../../lib/async/emitter.ts";
import { PROBE_LEASE_MS, PROBE_LEASE_PASSED_MS, REPLICA_LIFETIME_MS } from "../../protocol/limits.ts";
import type { Lease, LeaseState } from "../health/health-check.ts";
import type { DownRemote, Registered, Remote } from "../remote-state.ts";
import type { FollowedPart, RedisFollower } from "./redis-follower.ts";
import {
  DROP,
  LEAVE,
  PASS,
  PUT,
  READ,
  REGISTRY_KEYS,
  type RunScript,
  type Script,
  TAKE,
} from "./redis-scripts.ts";
import type { RegistryStore, RegistryStoreChange } from "./registry.ts";
import { SealedRemote, type TokenSeal } from "./token-seal.ts";

export type RedisRegistryStoreOptions = {
  /** Disposed of with the store. */
  readonly follower: RedisFollower;
  /** The same for all HQs of the registry. */
  readonly seal: TokenSeal;
  /** Identifies this HQ among them; new at every start. */
  readonly replicaId: string;
  readonly now: () => Date;
};

const DownFor = z.tuple([z.string(), z.int()]);
const Contents = z.tuple([z.string(), z.int(), z.array(z.string()), z.array(DownFor)]);
const Holder = z.string().optional();

const { instance, revision, changes, remotes, names, down } = REGISTRY_KEYS;
const READ_KEYS = [instance, revision, remotes, down];
const CHANGE_KEYS = [revision, changes, remotes, names, down];

/**
 * A change of this HQ takes effect when it comes back from Redis, so all HQs see the same changes in the same order. The
 * version of a remote is its text in Redis.
 */
export class RedisRegistryStore implements RegistryStore, FollowedPart, AsyncDisposable {
  /** Held by the HQ that may remove remotes. */
  readonly lease: RedisLease;
  readonly #options: RedisRegistryStoreOptions;
  readonly #changes = new Emitter<RegistryStoreChange>();
  /** The content that was read last, until listeners are told. */
  #contents: Extract<RegistryStoreChange, { kind: "read" }> = { kind: "read", remotes: [], down: [] };
  #instanceId: string;

  constructor(options: RedisRegistryStoreOptions) {
    this.#options = options;
    this.#instanceId = options.replicaId;
    this.lease = new RedisLease({ replicaId: options.replicaId, run: options.follower.run });
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
    return this.#options.follower.add(this);
  }

  async put(remote: Remote, how: "new" | "restored"): Promise<Registered | undefined> {
    const { id, name, lastHeartbeat } = remote;
    const text = JSON.stringify(this.#options.seal.sealed(remote));
    const holder = await this.#change(PUT, [id, name, text, how === "restored" ? lastHeartbeat : ""]);
    if (holder === undefined) return undefined;
    const stored = this.#parsed(holder);
    if (stored === undefined) throw new Error(`the registry's record of ${name} cannot be read`);
    return stored;
  }

  async remove(id: string, version = ""): Promise<void> {
    await this.#change(DROP, [id, version]);
  }

  watch(listener: (change: RegistryStoreChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  async read(run: RunScript): Promise<number> {
    const { seal, now } = this.#options;
    const own = `${this.#instanceId}.${seal.seal(this.#instanceId, this.#instanceId)}`;
    const [known, at, texts, downFor] = Contents.parse(await run(READ, READ_KEYS, [own]));
    this.#instanceId = this.#proven(known);
    const down = downFor.map(([name, seconds]): DownRemote => {
      return { name, since: new Date(now().getTime() - seconds * 1000).toISOString() };
    });
    this.#contents = { kind: "read", remotes: texts.flatMap((text) => this.#parsed(text) ?? []), down };
    return at;
  }

  apply({ id, remote: text = "", down: name = "" }: Readonly<Record<string, string>>): void {
    if (id === undefined) return;
    const stored = text === "" ? undefined : this.#parsed(text);
    const down = name === "" ? undefined : { name, since: this.#options.now().toISOString() };
    this.#changes.emit(stored === undefined ? { kind: "removed", id, down } : { kind: "stored", ...stored });
  }

  ready(): void {
    this.#changes.emit(this.#contents);
    this.#contents = { kind: "read", remotes: [], down: [] };
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

  /** Undefined for a record of another version or secret, which is treated as missing. */
  #parsed(text: string): Registered | undefined {
    try {
      const remote = this.#options.seal.opened(SealedRemote.parse(JSON.parse(text)));
      return remote && { remote, version: text };
    } catch {
      return undefined;
    }
  }

  /** Returns the remote that has the name, as it stands in Redis. */
  async #change(script: Script, values: readonly string[]): Promise<string | undefined> {
    const [holder] = await this.#options.follower.change(script, CHANGE_KEYS, values);
    return Holder.parse(holder);
  }
}

const KEYS = [REGISTRY_KEYS.lease, REGISTRY_KEYS.replicas];
const Taken = z.enum(["own", "passed", "other"]);

/** Expires in Redis after PROBE_LEASE_MS, so an HQ that dies or loses Redis does not hold it longer. */
export class RedisLease implements Lease {
  readonly #replicaId: string;
  readonly #run: RunScript;

  /** `replicaId` identifies this HQ among those that share the registry. */
  constructor({ replicaId, run }: { readonly replicaId: string; readonly run: RunScript }) {
    this.#replicaId = replicaId;
    this.#run = run;
  }

  async take(): Promise<LeaseState> {
    const values = [this.#replicaId, `${PROBE_LEASE_MS}`, `${REPLICA_LIFETIME_MS / 1000}`];
    return Taken.parse(await this.#run(TAKE, KEYS, values).catch(() => "other"));
  }

  async pass(): Promise<boolean> {
    const values = [this.#replicaId, `${PROBE_LEASE_PASSED_MS}`];
    return (await this.#run(PASS, KEYS, values).catch(() => 0)) === 1;
  }

  /** Releases the lease when this HQ stops. Never rejects. */
  async leave(): Promise<void> {
    await this.#run(LEAVE, KEYS, [this.#replicaId]).catch(() => undefined);
  }
}
