// Which machines belong to this HQ. It survives a restart; who is in it was heard of lately, or is removed by the probe.
import { Emitter } from "../../lib/async/emitter.ts";
import { Tally } from "../../lib/data/tally.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { RegisterRemote } from "../../protocol/schemas/remote.ts";
import type { Silence } from "../health/silences.ts";

/** A remote with the bearer token that opens it, which is told to nobody. Times are ISO 8601. */
export type Remote = RegisterRemote & {
  readonly registeredAt: string;
  readonly lastHeartbeat: string;
};

export type RegistryContents = { readonly remotes: readonly Remote[]; readonly silent: readonly Silence[] };

/** Where the registry of one HQ is kept: as a whole. */
export type RegistryFile = {
  load(): Promise<RegistryContents>;
  save(contents: RegistryContents): Promise<void>;
};

/** What became of a ledger; `reread`: changes may have been missed, and this is all that there is. */
export type RegistryStoreChange =
  | { readonly kind: "kept"; readonly remote: Remote }
  | { readonly kind: "dropped"; readonly id: string }
  | { readonly kind: "reread"; readonly remotes: readonly Remote[] };

/**
 * Stores the remotes of one HQ (FileRegistryStore) or of several that share a registry (RedisRegistryStore), and decides
 * which of them are registered. It logs what it could not store.
 */
export type RegistryStore = {
  /** Everything that is kept. To be called once, before all else; listeners hear of what changes from then on. */
  load(): Promise<readonly Remote[]>;
  /**
   * Keeps a remote unless one with another id has its name, and returns that one. A restored one gives way to what the
   * ledger knows of it since. Listeners have heard of it when this resolves. Rejects when it is not kept for now.
   */
  put(remote: Remote, how: "new" | "restored"): Promise<Remote | undefined>;
  /**
   * Removes a remote: whatever has become of it, or, because it does not answer, only as it is known here. Rejects as
   * `put`.
   */
  drop(remote: Remote, when: "always" | "unchanged"): Promise<void>;
  /** Who was removed lately because it did not answer, and is not kept under that name since; the latest last. */
  readonly silent: readonly Silence[];
  /** Whether it is in reach and has what it was told. */
  readonly isConnected: boolean;
  watch(listener: (change: RegistryStoreChange) => void): Disposable;
};

export type RegistryChange = { readonly kind: "joined" | "refreshed" | "left"; readonly remote: Remote };

/** Whether a remote still answers as itself. Never rejects. */
export type IsAlive = (remote: Remote) => Promise<boolean>;

export type RegistryOptions = {
  readonly ledger: RegistryStore;
  readonly isAlive: IsAlive;
  readonly now: () => Date;
};

/** A name is claimed so often at most while its holders come and go, or do not answer. */
const MAX_CLAIMS = 16;

/** Of the holders of that name, the one with another id: perhaps the predecessor, perhaps somebody else. */
export function rivalOf(
  remotes: Iterable<Remote>,
  { id, name }: Pick<RegisterRemote, "id" | "name">,
): Remote | undefined {
  for (const remote of remotes) if (remote.name === name && remote.id !== id) return remote;
  return undefined;
}

/** Whether it is to be reached as before: it may have been heard of since. */
export function isUnchanged(remote: Remote | undefined, before: Remote): boolean {
  return remote?.token === before.token && remote.url === before.url && remote.name === before.name;
}

/**
 * Remotes, unique by id and by name. Whoever has the credentials of the HQ adds them, the probe removes what does not
 * answer. What the ledger cannot keep for now is in memory alone, and kept when it can.
 */
export class Registry implements Disposable {
  /** What became of registrations since the start: `new`, `refreshed`, or `refused` because the name is taken. */
  readonly registrations = new Tally("result").expecting(["new"], ["refreshed"], ["refused"]);
  readonly #options: RegistryOptions;
  readonly #remotes = new Map<string, Remote>();
  readonly #changes = new Emitter<RegistryChange>();
  readonly #watching: Disposable;
  /** Ids of those that are in memory alone; no more than there are remotes. */
  #unkept = new Set<string>();

  private constructor(options: RegistryOptions) {
    this.#options = options;
    this.#watching = options.ledger.watch((change) => this.#heard(change));
  }

  static async open(options: RegistryOptions): Promise<Registry> {
    const registry = new Registry(options);
    for (const remote of await options.ledger.load()) registry.#remotes.set(remote.id, remote);
    return registry;
  }

  get remotes(): readonly Remote[] {
    return [...this.#remotes.values()];
  }

  get size(): number {
    return this.#remotes.size;
  }

  /** Remotes that the ledger could not keep for now. */
  get unkept(): number {
    return this.#unkept.size;
  }

  /** Remotes that were removed lately because they did not answer, and are not back; the latest last. */
  get silent(): readonly { readonly name: string; readonly forMs: number }[] {
    const { ledger, now } = this.#options;
    const names = new Set(this.remotes.map(({ name }) => name));
    const gone = ledger.silent.filter(({ name }) => !names.has(name));
    return gone.map(({ name, since }) => ({ name, forMs: Math.max(0, now().getTime() - Date.parse(since)) }));
  }

  byId(id: string): Remote | undefined {
    return this.#remotes.get(id);
  }

  byName(name: string): Remote | undefined {
    for (const remote of this.#remotes.values()) if (remote.name === name) return remote;
    return undefined;
  }

  /** Called with every change, before the promise of the call that made it resolves. */
  watch(listener: (change: RegistryChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  /** Adds or refreshes a remote (contract 6.1). Throws `remote_name_taken` when another one with that name answers. */
  async register(request: RegisterRemote): Promise<Remote> {
    const refreshed = (): Remote => {
      const lastHeartbeat = this.#options.now().toISOString();
      const registeredAt = this.#remotes.get(request.id)?.registeredAt ?? lastHeartbeat;
      return { ...request, registeredAt, lastHeartbeat };
    };
    const isKnown = this.#remotes.has(request.id);
    const { remote, holder } = await this.#claim(refreshed, "new");
    this.registrations.add(holder !== undefined ? "refused" : isKnown ? "refreshed" : "new");
    if (holder === undefined) return remote;
    throw new ServiceError(
      "remote_name_taken",
      `another remote has the name ${holder.name} and answers at ${holder.url}: choose another --name`,
    );
  }

  /** It was heard of just now. */
  seen(id: string): void {
    const remote = this.#remotes.get(id);
    if (remote === undefined) return;
    this.#remotes.set(id, { ...remote, lastHeartbeat: this.#options.now().toISOString() });
  }

  /** Throws `remote_not_found`. */
  async remove(id: string): Promise<Remote> {
    const remote = this.#remotes.get(id);
    if (remote === undefined) throw new ServiceError("remote_not_found", `no remote with the id ${id}`);
    await this.#discard(remote, "always");
    // Of one that it has lost the ledger tells nothing.
    if (this.#remotes.get(id) === remote) this.#drop(remote);
    return remote;
  }

  /** Removes one that does not answer, unless it registered anew, here or with another HQ of this registry. */
  async expire(remote: Remote): Promise<void> {
    await this.#discard(remote, "unchanged");
  }

  /** One that was removed because it did not answer, and answers again; not where its id or its name is another's by now. */
  async takeBack(remote: Remote): Promise<void> {
    if (this.#remotes.has(remote.id) || this.byName(remote.name) !== undefined) return;
    // With the time of then: it may have told another HQ of a new token since.
    await this.#claim(() => remote, "restored");
    this.seen(remote.id);
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }

  /**
   * Keeps a remote, or tells who holds its name and answers. A remote that lost its control directory comes back with
   * another id: the old one gives way unless it answers.
   */
  async #claim(
    make: () => Remote,
    how: "new" | "restored",
  ): Promise<{ readonly remote: Remote; readonly holder?: Remote }> {
    const { isAlive } = this.#options;
    for (let claims = 1; ; claims += 1) {
      const remote = make();
      const holder = await this.#keep(remote, how);
      if (holder === undefined) return { remote };
      if (claims === MAX_CLAIMS || (await isAlive(holder))) return { remote, holder };
      await this.#discard(holder, "unchanged");
    }
  }

  /** What is in memory alone the ledger cannot remove. */
  async #discard(remote: Remote, when: "always" | "unchanged"): Promise<void> {
    await this.#options.ledger.drop(remote, when).catch(() => this.#drop(remote));
    if (this.#unkept.has(remote.id)) this.#drop(remote);
  }

  async #keep(remote: Remote, how: "new" | "restored"): Promise<Remote | undefined> {
    try {
      return await this.#options.ledger.put(remote, how);
    } catch {
      const rival = rivalOf(this.#remotes.values(), remote);
      if (rival !== undefined) return rival;
      this.#unkept.add(remote.id);
      this.#put(remote);
      return undefined;
    }
  }

  #heard(change: RegistryStoreChange): void {
    if (change.kind === "reread") {
      void this.#settle(change.remotes);
      return;
    }
    const id = change.kind === "kept" ? change.remote.id : change.id;
    const known = this.#remotes.get(id);
    this.#unkept.delete(id);
    if (change.kind === "kept") this.#put(change.remote);
    else if (known !== undefined) this.#drop(known);
  }

  #put(remote: Remote): void {
    const known = this.#remotes.get(remote.id);
    if (known !== undefined && known.name !== remote.name) this.#drop(known);
    // The ledger says whose the name is: what is here was dropped by another HQ that is still to tell of it.
    const rival = rivalOf(this.#remotes.values(), remote);
    if (rival !== undefined) this.#drop(rival);
    const kind = this.#remotes.has(remote.id) ? "refreshed" : "joined";
    this.#remotes.set(remote.id, remote);
    this.#changes.emit({ kind, remote });
  }

  /** Unless it has changed since. */
  #drop(remote: Remote): void {
    const current = this.#remotes.get(remote.id);
    if (current === undefined || !isUnchanged(current, remote)) return;
    this.#remotes.delete(remote.id);
    this.#unkept.delete(remote.id);
    this.#changes.emit({ kind: "left", remote: current });
  }

  /**
   * After a time without the ledger: what others did is taken over. What it does not know was removed by others, or
   * the ledger has lost it: who answers is put back.
   */
  async #settle(kept: readonly Remote[]): Promise<void> {
    const keptById = new Map(kept.map((remote) => [remote.id, remote]));
    const unkept = new Set(
      [...this.#unkept].filter((id) => !isNewer(keptById.get(id), this.#remotes.get(id))),
    );
    this.#unkept = new Set();
    for (const remote of kept) {
      const rival = rivalOf(this.#remotes.values(), remote);
      const isDisputed = unkept.has(remote.id) || (rival !== undefined && unkept.has(rival.id));
      if (!isDisputed && !isUnchanged(this.#remotes.get(remote.id), remote)) this.#put(remote);
    }
    const own = this.remotes.filter(({ id }) => unkept.has(id) || !keptById.has(id));
    await Promise.all(own.map((remote) => this.#restore(remote, unkept.has(remote.id))));
  }

  async #restore(remote: Remote, isNews: boolean): Promise<void> {
    const isSilent = !isNews && !(await this.#options.isAlive(remote));
    const current = this.#remotes.get(remote.id);
    // To have been heard of while it was asked is a sign of life, too.
    if (isSilent && current?.lastHeartbeat === remote.lastHeartbeat) {
      this.#drop(remote);
      return;
    }
    // It is another one by now, or gone: whoever heard that has told the ledger.
    if (!isUnchanged(current, remote)) return;
    const { holder } = await this.#claim(() => remote, "restored");
    if (holder !== undefined) this.#put(holder);
  }
}

function isNewer(remote: Remote | undefined, than: Remote | undefined): boolean {
  return remote !== undefined && (than === undefined || remote.lastHeartbeat > than.lastHeartbeat);
}
