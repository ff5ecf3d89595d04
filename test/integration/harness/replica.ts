// One of the HQs that share a ledger on a real Redis, as far as the ledger goes.

import { eventually } from "../../../packages/testing/src/wait.ts";
import { RedisFollower } from "../../../src/hq/registry/redis-follower.ts";
import { RedisRecords } from "../../../src/hq/registry/redis-records.ts";
import { RedisRegistryStore } from "../../../src/hq/registry/redis-store.ts";
import type { RegistryStoreChange } from "../../../src/hq/registry/registry.ts";
import { TokenSeal } from "../../../src/hq/registry/token-seal.ts";
import type { Registered, Remote } from "../../../src/hq/remote-state.ts";
import { parseRedisAddress } from "../../../src/lib/net/redis-address.ts";
import { Secret } from "../../../src/lib/secret.ts";

const SECRET = "a secret of at least 32 bytes, as it were";
export const OUT_OF_REACH = "registry is out of reach: going on with what is known";
export const BACK = "registry is back";

type Line = { readonly level: string; readonly message: string } & Readonly<Record<string, unknown>>;

export class Replica implements AsyncDisposable {
  readonly store: RedisRegistryStore;
  readonly log: Line[] = [];
  readonly heard: RegistryStoreChange[] = [];
  readonly #follower: RedisFollower;
  readonly #seal: TokenSeal;

  /** `url`: of the Redis, with credentials. `ca`: an authority that is trusted, PEM. */
  constructor(
    name: string,
    {
      url,
      secret = SECRET,
      ca,
    }: { readonly url: string; readonly secret?: string; readonly ca?: Uint8Array | undefined },
  ) {
    const note = (level: string) => (fields: object, message: string) => {
      this.log.push({ level, message, ...fields });
    };
    const address = parseRedisAddress(url);
    if (address === undefined) throw new Error("no address");
    const log = { info: note("info"), warn: note("warn"), error: note("error") };
    this.#follower = new RedisFollower({ address, ca, log, random: () => 1 });
    this.#seal = new TokenSeal(Secret.fromText(secret));
    const own = { follower: this.#follower, seal: this.#seal, replicaId: name };
    this.store = new RedisRegistryStore({ ...own, now: () => new Date() });
    this.store.watch((change) => this.heard.push(change));
  }

  static async loaded(name: string, url: string): Promise<Replica> {
    const replica = new Replica(name, { url });
    await replica.store.load();
    return replica;
  }

  /** Its logins and share links, once the store is loaded. */
  records(now = (): number => Date.now()): Promise<RedisRecords> {
    const instanceId = (): string => this.store.instanceId;
    return RedisRecords.open({ follower: this.#follower, seal: this.#seal, instanceId, now });
  }

  /** What it was told since the start, without the versions. */
  get news(): readonly object[] {
    return this.heard.filter(({ kind }) => kind !== "read").map(withoutVersions);
  }

  /** The registrations and the remotes that are down, as it read them last. */
  get read(): Extract<RegistryStoreChange, { kind: "read" }> {
    const read = this.heard.findLast((change) => change.kind === "read");
    if (read?.kind !== "read") throw new Error("nothing was read yet");
    return read;
  }

  /** The names of the remotes that are down, the first to go down first. */
  get down(): readonly string[] {
    const names: string[] = [];
    for (const change of this.heard) {
      if (change.kind === "read") names.splice(0, names.length, ...change.down.map(({ name }) => name));
      if (change.kind === "stored") remove(names, change.remote.name);
      if (change.kind === "removed" && change.down !== undefined) names.push(change.down.name);
    }
    return names;
  }

  /** The version of a remote that it heard of last. */
  versionOf(id: string): string {
    const stored = this.heard.flatMap((change): readonly Registered[] => {
      if (change.kind === "read") return change.remotes;
      return change.kind === "stored" ? [change] : [];
    });
    return stored.findLast(({ remote }) => remote.id === id)?.version ?? "no version";
  }

  messages(): readonly string[] {
    return this.log.map(({ message }) => message);
  }

  said(message: string): Promise<unknown> {
    return eventually(async () => this.messages().includes(message) || undefined, message);
  }

  hears(fits: (change: RegistryStoreChange) => boolean): Promise<RegistryStoreChange> {
    return eventually(async () => this.heard.find(fits), "a change of the registry");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.store[Symbol.asyncDispose]();
  }
}

export function remote(name: string, more: Partial<Remote> = {}): Remote {
  const times = { registeredAt: "2026-01-01T00:00:00.000Z", lastHeartbeat: "2026-01-02T00:00:00.000Z" };
  const own = { id: `id-of-${name}`, name, url: `http://${name}.test`, token: `token-of-${name}` };
  return { ...own, ...times, ...more };
}

function withoutVersions(change: RegistryStoreChange): object {
  return change.kind === "stored" ? { kind: "stored", remote: change.remote } : change;
}

function remove(names: string[], name: string): void {
  if (names.includes(name)) names.splice(names.indexOf(name), 1);
}
