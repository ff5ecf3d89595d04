// The remotes of this HQ: one state for each name (remote-state.ts), stored in tables so that it survives a restart.

import { Emitter } from "../../lib/async/emitter.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { Tally } from "../../lib/data/tally.ts";
import type { Seal } from "../../lib/seal.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { HEALTH_CHECK_TIMEOUT_MS, MAX_DOWN_REMOTES } from "../../protocol/limits.ts";
import type { RegisterRemote } from "../../protocol/schemas/remote.ts";
import {
  isDownLately,
  isNewer,
  isRegistered,
  isUnchanged,
  LEFT,
  type RegisteredState,
  RegistryEntry,
  type Remote,
  type RemoteAction,
  type RemoteEvent,
  type RemoteState,
  transition,
} from "../remote-state.ts";
import { type RegistryTables, SealedTable, type TableChange, type TableUpdate } from "./tables.ts";

export type RegistryChange = { readonly kind: "joined" | "refreshed" | "left"; readonly remote: Remote };

/** Whether a remote still answers as itself, and may be registered. Never rejects. */
export type IsAlive = (remote: Remote, timeoutMs: number) => Promise<boolean>;

export type RegistryOptions = {
  readonly tables: RegistryTables;
  /** The same for all HQs that share the tables. */
  readonly seal: Seal;
  readonly isAlive: IsAlive;
  readonly now: () => Date;
};

/** Limit for attempts to claim a name whose holders change or do not answer. */
const MAX_CLAIMS = 16;

export class Registry implements Disposable {
  /** Registrations since the start: `new`, `refreshed`, or `refused` because the name is taken. */
  readonly registrations = new Tally("result").expecting(["new"], ["refreshed"], ["refused"]);
  readonly #options: RegistryOptions;
  readonly #table: SealedTable<RegistryEntry>;
  /** By name. At most MAX_DOWN_REMOTES are down; beyond that the first to go down is forgotten. */
  readonly #states = new Map<string, RemoteState>();
  /** The name of each id: derived from the states when it is needed, and kept until a name has another id. */
  #names: ReadonlyMap<string, string> | undefined;
  readonly #changes = new Emitter<RegistryChange>();
  readonly #watching: Disposable;

  private constructor(options: RegistryOptions) {
    const { tables, seal } = options;
    this.#options = options;
    this.#table = new SealedTable(tables, seal, "remotes", RegistryEntry);
    this.#watching = tables.watch((change) => this.#storeChanged(change));
  }

  static async open(options: RegistryOptions): Promise<Registry> {
    const registry = new Registry(options);
    await options.tables.load();
    return registry;
  }

  get remotes(): readonly Remote[] {
    return this.#registered().map(({ remote }) => remote);
  }

  get size(): number {
    return this.#registered().length;
  }

  get unstored(): number {
    return this.#registered().filter(({ isStored }) => !isStored).length;
  }

  /** Remotes that did not answer the last health check. */
  get suspects(): readonly Remote[] {
    return this.#registered().flatMap(({ status, remote }) => (status === "suspect" ? [remote] : []));
  }

  /** Remotes that are down, since when, and for how long; the latest last. */
  get down(): readonly { readonly name: string; readonly since: string; readonly forMs: number }[] {
    const now = this.#options.now();
    return this.#down()
      .filter(([, since]) => isDownLately(since, now.toISOString()))
      .map(([name, since]) => ({ name, since, forMs: Math.max(0, now.getTime() - Date.parse(since)) }));
  }

  byId(id: string): Remote | undefined {
    const name = this.#nameOf(id);
    return name === undefined ? undefined : this.byName(name);
  }

  byName(name: string): Remote | undefined {
    const state = this.#states.get(name);
    return isRegistered(state) ? state.remote : undefined;
  }

  /** Called with every change, before the promise of the call that made it resolves. */
  watch(listener: (change: RegistryChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  /**
   * Adds or refreshes a remote (contract 6.1). A remote that lost its control directory comes back with another id and
   * takes the place of the old one, which does not answer. Throws `remote_name_taken` if the other one answers.
   */
  async register(request: RegisterRemote & Pick<Remote, "registeredByKey">): Promise<Remote> {
    const { id, name } = request;
    const isKnown = this.byId(id) !== undefined;
    for (let claims = 1; claims <= MAX_CLAIMS; claims += 1) {
      const holder = this.byName(name);
      if (holder !== undefined && holder.id !== id) {
        if (await this.#options.isAlive(holder, HEALTH_CHECK_TIMEOUT_MS)) break;
        const now = this.byName(name);
        if (now !== undefined && !isUnchanged(now, holder)) continue;
      }
      const lastHeartbeat = this.#now();
      const registeredAt = this.byId(id)?.registeredAt ?? lastHeartbeat;
      const remote = { ...request, registeredAt, refreshedAt: lastHeartbeat, lastHeartbeat };
      if (!(await this.#store(remote))) continue;
      this.registrations.add(isKnown ? "refreshed" : "new");
      return remote;
    }
    this.registrations.add("refused");
    const where = this.byName(name)?.url ?? "another address";
    const message = `another remote has the name ${name} and answers at ${where}: choose another --name`;
    throw new ServiceError("remote_name_taken", message);
  }

  /** The remote gave a sign of life just now. */
  seen(id: string): void {
    const name = this.#nameOf(id);
    if (name !== undefined) void this.#apply(name, { type: "answered", id, at: this.#now() });
  }

  /** The result of a health check of `asked`. */
  checked(asked: Remote, hasAnswered: boolean): Promise<void> {
    const event: RemoteEvent = hasAnswered
      ? { type: "answered", id: asked.id, at: this.#now() }
      : { type: "unanswered", asked };
    return this.#apply(asked.name, event);
  }

  /** Removes a suspect. Returns false if it registered again, here or with another HQ of this registry, and stays. */
  async expire({ id, name }: Pick<Remote, "id" | "name">): Promise<boolean> {
    await this.#apply(name, { type: "expired", at: this.#now() });
    return this.byName(name)?.id !== id;
  }

  /** Checks the remotes that this HQ has removed, and takes back those that answer. Resolves when each has been checked. */
  async recover(): Promise<void> {
    await Promise.all(this.#down().map(([name]) => this.#apply(name, { type: "tick", at: this.#now() })));
  }

  /** Throws `remote_not_found`. */
  async remove(id: string): Promise<Remote> {
    const remote = this.byId(id);
    if (remote === undefined) throw new ServiceError("remote_not_found", `no remote with the id ${id}`);
    // Another HQ may refresh it at the same time.
    for (let known = this.byId(id); known !== undefined; known = this.byId(id)) {
      await this.#remove(known, undefined);
    }
    return remote;
  }

  /** Removes the remote of that name, if there is one. If it is down, it is not taken back when it answers. */
  async forget(name: string): Promise<void> {
    const remote = this.byName(name);
    if (remote === undefined) await this.#apply(name, { type: "forgotten" });
    else await this.remove(remote.id);
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }

  #now(): string {
    return this.#options.now().toISOString();
  }

  #registered(): readonly RegisteredState[] {
    return [...this.#states.values()].filter(isRegistered);
  }

  /** Names and times, the latest last. */
  #down(): readonly (readonly [name: string, since: string])[] {
    return [...this.#states]
      .flatMap(([name, state]) => (state.status === "down" ? [[name, state.since] as const] : []))
      .sort(([, one], [, other]) => Date.parse(one) - Date.parse(other));
  }

  #nameOf(id: string): string | undefined {
    this.#names ??= namesIn(this.#states);
    return this.#names.get(id);
  }

  /** Never rejects. The state has changed and listeners have heard of it when this returns. */
  async #apply(name: string, event: RemoteEvent): Promise<void> {
    const before = this.#states.get(name) ?? LEFT;
    const { state, actions } = transition(before, event);
    if (state.remote?.id !== before.remote?.id) this.#names = undefined;
    if (isRegistered(state) !== isRegistered(before)) this.#states.delete(name);
    if (state.status === "left" && state.version === undefined) this.#states.delete(name);
    else this.#states.set(name, state);
    await Promise.all(actions.map((action) => this.#perform(name, action)));
  }

  async #perform(name: string, action: RemoteAction): Promise<void> {
    switch (action.type) {
      case "check": {
        const hasAnswered = await this.#options.isAlive(action.remote, action.timeoutMs);
        return await this.checked(action.remote, hasAnswered);
      }
      case "restore":
        return await this.#restore(action.remote, action.holder);
      case "remove":
        return await this.#remove(action.remote, action.since);
      case "forget":
        // If that fails, the entry is forgotten when the store is read again.
        return void this.#commit(this.#table.change(name, action.version, undefined)).catch(() => false);
      default:
        this.#changes.emit({ kind: action.type, remote: action.remote });
    }
  }

  async #restore(remote: Remote, holder: Remote | undefined): Promise<void> {
    if (holder === undefined || !(await this.#options.isAlive(holder, HEALTH_CHECK_TIMEOUT_MS))) {
      // If the store has a newer entry, this registry has heard of it.
      await this.#store(remote);
    } else if (isUnchanged(this.byName(remote.name), remote)) {
      const version = this.#states.get(remote.name)?.version;
      this.#put(remote.name, { type: "stored", entry: { remote: holder }, version });
    }
  }

  /**
   * Stores a remote under its name. False if the store has another entry than this registry knew. A remote that the
   * store cannot take is in memory only until the store is read again.
   */
  async #store(remote: Remote): Promise<boolean> {
    const { id, name } = remote;
    const former = this.#nameOf(id) ?? name;
    const renamed = former === name ? [] : [this.#change(former, undefined)];
    try {
      return await this.#commit(...renamed, this.#change(name, { remote }));
    } catch {
      this.#put(name, { type: "registered", remote });
      return true;
    }
  }

  /** Removes a remote unless it registered anew; `since`: because it did not answer. */
  async #remove(remote: Remote, since: string | undefined): Promise<void> {
    const { name } = remote;
    const state = this.#states.get(name);
    if (!isRegistered(state) || !isUnchanged(state.remote, remote)) return;
    const entry = since === undefined ? undefined : { downSince: since };
    const isHeard = state.isStored && (await succeeded(this.#commit(this.#change(name, entry))));
    if (!isHeard && isUnchanged(this.byName(name), remote))
      await this.#apply(name, { type: "removed", since });
  }

  #change(name: string, after: RegistryEntry | undefined): TableChange {
    return this.#table.change(name, this.#states.get(name)?.version, after);
  }

  #commit(...changes: readonly TableChange[]): Promise<boolean> {
    return this.#options.tables.commit(changes);
  }

  #storeChanged({ table, isWhole, entries }: TableUpdate): void {
    if (table !== "remotes") return;
    const type = isWhole ? "read" : "stored";
    const names = isWhole ? new Set([...entries.keys(), ...this.#states.keys()]) : entries.keys();
    for (const name of names) {
      const version = entries.get(name);
      const entry = version === undefined ? undefined : this.#table.open(name, version);
      this.#put(name, { type, entry, version });
    }
    for (const [name] of this.#down().slice(0, -MAX_DOWN_REMOTES))
      void this.#apply(name, { type: "forgotten" });
  }

  /** A remote has one name: the one of its latest registration. */
  #put(name: string, event: Extract<RemoteEvent, { type: "stored" | "read" | "registered" }>): void {
    const remote = event.type === "registered" ? event.remote : event.entry?.remote;
    const other = remote === undefined ? name : (this.#nameOf(remote.id) ?? name);
    if (remote === undefined || other === name) return void this.#apply(name, event);
    const state = this.#states.get(other);
    if (!isRegistered(state) || state.isStored || isNewer(remote, state.remote)) {
      // One that is down would come back under its former name.
      const isDown = !isRegistered(state);
      void this.#apply(other, isDown ? { type: "forgotten" } : { type: "removed", since: undefined });
      return void this.#apply(name, event);
    }
    if (event.type !== "registered") void this.#apply(name, { ...event, type: "stored", entry: undefined });
    void this.#apply(name, { type: "forgotten" });
  }
}

/** By id. A remote that is down may have registered under another name. */
function namesIn(states: ReadonlyMap<string, RemoteState>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, state] of states) {
    const id = state.remote?.id;
    if (id !== undefined && (isRegistered(state) || !names.has(id))) names.set(id, name);
  }
  return names;
}
