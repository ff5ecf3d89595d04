// The registry part of an HQ that shares a registry on a real Redis.

import { eventually } from "../../../packages/testing/src/wait.ts";
import { RedisRecords } from "../../../src/hq/registry/redis-records.ts";
import { RedisTables } from "../../../src/hq/registry/redis-tables.ts";
import { SealedTable } from "../../../src/hq/registry/tables.ts";
import { RegistryEntry, type Remote } from "../../../src/hq/remote-state.ts";
import { parseRedisAddress } from "../../../src/lib/net/redis-address.ts";
import { Seal } from "../../../src/lib/seal.ts";
import { Secret } from "../../../src/lib/secret.ts";

const SECRET = "a secret of at least 32 bytes, as it were";
export const OUT_OF_REACH = "registry is unreachable: continuing with the local copy";
export const BACK = "registry is back";

type Line = { readonly level: string; readonly message: string } & Readonly<Record<string, unknown>>;
/** A received entry; `undefined`: it was removed. */
type Heard = readonly [name: string, entry: RegistryEntry | undefined];

export class Replica implements AsyncDisposable {
  readonly tables: RedisTables;
  readonly records: RedisRecords;
  readonly seal: Seal;
  readonly log: Line[] = [];
  /** All notifications since the start, without the initial reading. */
  readonly news: Heard[] = [];
  readonly #table: SealedTable<RegistryEntry>;
  readonly #texts = new Map<string, string>();

  /** `url`: of the Redis, with credentials. `ca`: a trusted authority, PEM. */
  constructor(
    name: string,
    {
      url,
      secret = SECRET,
      ca,
      now = () => Date.now(),
    }: {
      readonly url: string;
      readonly secret?: string;
      readonly ca?: Uint8Array | undefined;
      readonly now?: (() => number) | undefined;
    },
  ) {
    const note = (level: string) => (fields: object, message: string) => {
      this.log.push({ level, message, ...fields });
    };
    const address = parseRedisAddress(url);
    if (address === undefined) throw new Error("no address");
    const log = { info: note("info"), warn: note("warn"), error: note("error") };
    this.seal = new Seal(Secret.fromText(secret));
    const { seal } = this;
    this.tables = new RedisTables({ address, ca, log, random: () => 1, seal, replicaId: name });
    this.records = new RedisRecords({ tables: this.tables, seal, replicaId: name, now });
    this.#table = new SealedTable(this.tables, seal, "remotes", RegistryEntry);
    this.tables.watch(({ table, isWhole, entries }) => {
      if (table !== "remotes") return;
      if (isWhole) this.#texts.clear();
      for (const [id, text] of entries) {
        if (text === undefined) this.#texts.delete(id);
        else this.#texts.set(id, text);
        if (!isWhole) this.news.push([id, text === undefined ? undefined : this.#table.open(id, text)]);
      }
    });
  }

  static async loaded(name: string, url: string, now?: () => number): Promise<Replica> {
    const replica = new Replica(name, { url, now });
    await replica.tables.load();
    return replica;
  }

  /** Whether it could replace the entry in the version that it knows. */
  put(name: string, entry: RegistryEntry | undefined): Promise<boolean> {
    return this.putAll([[name, entry]]);
  }

  putAll(all: readonly Heard[]): Promise<boolean> {
    return this.tables.commit(
      all.map(([name, entry]) => this.#table.change(name, this.#texts.get(name), entry)),
    );
  }

  putRemote(remote: Remote): Promise<boolean> {
    return this.put(remote.name, { remote });
  }

  /** The entries that it knows and can decrypt. */
  get entries(): readonly RegistryEntry[] {
    return [...this.#texts].flatMap(([id, text]) => this.#table.open(id, text) ?? []);
  }

  messages(): readonly string[] {
    return this.log.map(({ message }) => message);
  }

  said(message: string): Promise<unknown> {
    return eventually(async () => this.messages().includes(message) || undefined, message);
  }

  hears(fits: (...heard: Heard) => boolean): Promise<Heard> {
    return eventually(async () => this.news.find((heard) => fits(...heard)), "a change of the registry");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.tables[Symbol.asyncDispose]();
  }
}

export function remote(name: string, more: Partial<Remote> = {}): Remote {
  const times = { registeredAt: "2026-01-01T00:00:00.000Z", lastHeartbeat: "2026-01-02T00:00:00.000Z" };
  const own = { id: `id-of-${name}`, name, url: `http://${name}.test`, token: `token-of-${name}` };
  return { ...own, ...times, ...more };
}
