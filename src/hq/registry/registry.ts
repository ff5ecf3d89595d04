// The remotes of this HQ: one state for each name (remote-state.ts), kept in a store so that it survives a restart.

import { Emitter } from "../../lib/async/emitter.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { Tally } from "../../lib/data/tally.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { HEALTH_CHECK_TIMEOUT_MS, MAX_DOWN_REMOTES } from "../../protocol/limits.ts";
import type { RegisterRemote } from "../../protocol/schemas/remote.ts";
import {
  type DownRemote,
  isDownLately,
  isRegistered,
  isUnchanged,
  LEFT,
  type Registered,
  type Remote,
  type RemoteAction,
  type RemoteEvent,
  type RemoteState,
  transition,
} from "../remote-state.ts";

export type RegistryStoreChange =
  | (Registered & { readonly kind: "stored" })
  /** `down`: it was removed because it did not answer. */
  | { readonly kind: "removed"; readonly id: string; readonly down: DownRemote | undefined }
  /** The whole content: at the start, and when changes may have been missed. */
  | {
      readonly kind: "read";
      readonly remotes: readonly Registered[];
      readonly down: readonly DownRemote[];
    };

/**
 * Stores the remotes of one HQ (FileRegistryStore) or of several that share a registry (RedisRegistryStore), and decides
 * which remote has a name. It logs failures.
 */
export type RegistryStore = {
  /** Reads everything and tells it to the listeners. Call it once, before anything else. */
  load(): Promise<void>;
  /**
   * Stores a remote unless another one has its name, and returns that one. A restored remote does not replace a newer
   * registration. Listeners have heard of the change when this resolves. Rejects if the remote could not be stored.
   */
  put(remote: Remote, how: "new" | "restored"): Promise<Registered | undefined>;
  /** With a version: removes that version, since the remote does not answer, and nothing newer. Rejects like `put`. */
  remove(id: string, version?: string): Promise<void>;
  /** Whether the store can be reached and has everything. */
  readonly isConnected: boolean;
  watch(listener: (change: RegistryStoreChange) => void): Disposable;
};

export type RegistryChange = { readonly kind: "joined" | "refreshed" | "left"; readonly remote: Remote };

/** Whether a remote still answers as itself. Never rejects. */
export type IsAlive = (remote: Remote, timeoutMs: number) => Promise<boolean>;

export type RegistryOptions = {
  readonly store: RegistryStore;
  readonly isAlive: IsAlive;
  readonly now: () => Date;
};

/** Limit for attempts to claim a name whose holders change or do not answer. */
const MAX_CLAIMS = 16;

export class Registry implements Disposable {
  /** Registrations since the start: `new`, `refreshed`, or `refused` because the name is taken. */
  readonly registrations = new Tally("result").expecting(["new"], ["refreshed"], ["refused"]);
  readonly #options: RegistryOptions;
  /** By name. At most MAX_DOWN_REMOTES are down, in the order of their removal; beyond that the first is forgotten. */
  readonly #states = new Map<string, RemoteState>();
  readonly #changes = new Emitter<RegistryChange>();
  readonly #watching: Disposable;

  private constructor(options: RegistryOptions) {
    this.#options = options;
    this.#watching = options.store.watch((change) => this.#storeChanged(change));
  }

  static async open(options: RegistryOptions): Promise<Registry> {
    const registry = new Registry(options);
    await options.store.load();
    return registry;
  }

  get remotes(): readonly Remote[] {
    return this.#registered().map(({ remote }) => remote);
  }

  get size(): number {
    return this.#registered().length;
  }

  /** Number of remotes that the store does not have. */
  get unstored(): number {
    return this.#registered().filter(({ version }) => version === undefined).length;
  }

  /** Remotes that did not answer the last health check. */
  get suspects(): readonly Remote[] {
    const states = this.#registered();
    return states.flatMap((state) =>
      state.status === "suspect" && state.reason === "no-answer" ? [state.remote] : [],
    );
  }

  /** Remotes that are down, and for how long; the latest last. */
  get down(): readonly { readonly name: string; readonly forMs: number }[] {
    const now = this.#options.now();
    return [...this.#states].flatMap(([name, state]) =>
      state.status === "down" && isDownLately(state.since, now.toISOString())
        ? [{ name, forMs: Math.max(0, now.getTime() - Date.parse(state.since)) }]
        : [],
    );
  }

  byId(id: string): Remote | undefined {
    return this.#registered().find(({ remote }) => remote.id === id)?.remote;
  }

  byName(name: string): Remote | undefined {
    const state = this.#states.get(name);
    return isRegistered(state) ? state.remote : undefined;
  }

  /** Called with every change, before the promise of the call that made it resolves. */
  watch(listener: (change: RegistryChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  /** Adds or refreshes a remote (contract 6.1). Throws `remote_name_taken` if another remote with that name answers. */
  async register(request: RegisterRemote): Promise<Remote> {
    const refreshed = (): Remote => {
      const lastHeartbeat = this.#now();
      const registeredAt = this.byId(request.id)?.registeredAt ?? lastHeartbeat;
      return { ...request, registeredAt, lastHeartbeat };
    };
    const isKnown = this.byId(request.id) !== undefined;
    const { remote, holder } = await this.#claim(refreshed, "new");
    this.registrations.add(holder !== undefined ? "refused" : isKnown ? "refreshed" : "new");
    if (holder === undefined) return remote;
    const { name, url } = holder.remote;
    throw new ServiceError(
      "remote_name_taken",
      `another remote has the name ${name} and answers at ${url}: choose another --name`,
    );
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

  /** Removes a suspect. A remote that registered again, here or with another HQ of this registry, stays. */
  expire({ name }: Pick<Remote, "name">): Promise<void> {
    return this.#apply(name, { type: "expired", at: this.#now() });
  }

  /** Checks the remotes that this HQ has removed, and takes back those that answer. Resolves when each has been checked. */
  async recover(): Promise<void> {
    const names = [...this.#states].filter(([, { status }]) => status === "down").map(([name]) => name);
    await Promise.all(names.map((name) => this.#apply(name, { type: "tick", at: this.#now() })));
  }

  /** Throws `remote_not_found`. */
  async remove(id: string): Promise<Remote> {
    const remote = this.byId(id);
    if (remote === undefined) throw new ServiceError("remote_not_found", `no remote with the id ${id}`);
    await this.#options.store.remove(id).catch(() => undefined);
    // The store tells nothing of a remote that it does not have.
    if (isUnchanged(this.byId(id), remote)) {
      await this.#apply(remote.name, { type: "removed", id, since: undefined });
    }
    return remote;
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }

  #now(): string {
    return this.#options.now().toISOString();
  }

  #registered(): readonly Extract<RemoteState, { status: "up" | "suspect" }>[] {
    return [...this.#states.values()].filter(isRegistered);
  }

  #nameOf(id: string): string | undefined {
    for (const [name, state] of this.#states) {
      if (state.status !== "left" && state.remote?.id === id) return name;
    }
    return undefined;
  }

  /** Never rejects. The state has changed and listeners have heard of it when this returns. */
  async #apply(name: string, event: RemoteEvent): Promise<void> {
    const before = this.#states.get(name) ?? LEFT;
    const { state, actions } = transition(before, event);
    if (isRegistered(state) !== isRegistered(before)) this.#states.delete(name);
    if (state.status === "left") this.#states.delete(name);
    else this.#states.set(name, state);
    if (state.status === "down" && before.status !== "down") this.#forgetFirstDown();
    await Promise.all(actions.map((action) => this.#perform(action)));
  }

  #forgetFirstDown(): void {
    const down = [...this.#states].filter(([, { status }]) => status === "down");
    for (const [name] of down.slice(0, -MAX_DOWN_REMOTES)) this.#states.delete(name);
  }

  async #perform(action: RemoteAction): Promise<void> {
    const { remote } = action;
    switch (action.type) {
      case "check":
        return await this.checked(remote, await this.#options.isAlive(remote, action.timeoutMs));
      case "restore":
        return await this.#restore(remote, action.answeredAt);
      case "remove":
        return await this.#discard(action);
      default:
        this.#changes.emit({ kind: action.type, remote });
    }
  }

  async #restore(remote: Remote, answeredAt: string | undefined): Promise<void> {
    const { holder } = await this.#claim(() => remote, "restored");
    if (holder !== undefined) this.#put({ type: "registered", ...holder });
    else if (answeredAt !== undefined) {
      await this.#apply(remote.name, { type: "answered", id: remote.id, at: answeredAt });
    }
  }

  /**
   * Stores a remote, or returns the holder of its name that answers. A remote that lost its control directory comes back
   * with another id and takes the place of the old one, which does not answer.
   */
  async #claim(
    make: () => Remote,
    how: "new" | "restored",
  ): Promise<{ readonly remote: Remote; readonly holder?: Registered }> {
    for (let claims = 1; ; claims += 1) {
      const remote = make();
      const holder = await this.#store(remote, how);
      if (holder === undefined) return { remote };
      const isHeld = await this.#options.isAlive(holder.remote, HEALTH_CHECK_TIMEOUT_MS);
      if (claims === MAX_CLAIMS || isHeld) return { remote, holder };
      await this.#discard(holder);
    }
  }

  /** The store cannot remove a registration that it does not have. */
  async #discard({ remote, version }: Registered): Promise<void> {
    const { id, name } = remote;
    const isDone = version !== undefined && (await succeeded(this.#options.store.remove(id, version)));
    if (isDone || !isUnchanged(this.byId(id), remote)) return;
    await this.#apply(name, { type: "removed", id, since: this.#now() });
  }

  /** A registration that the store does not take is in memory only until the store is read again. */
  async #store(remote: Remote, how: "new" | "restored"): Promise<Registered | undefined> {
    try {
      return await this.#options.store.put(remote, how);
    } catch {
      const state = this.#states.get(remote.name);
      if (isRegistered(state) && state.remote.id !== remote.id) return state;
      this.#put({ type: "registered", remote, version: undefined });
      return undefined;
    }
  }

  #storeChanged(change: RegistryStoreChange): void {
    switch (change.kind) {
      case "read":
        this.#read(change.remotes, change.down);
        break;
      case "stored":
        this.#put({ ...change, type: "registered" });
        break;
      case "removed": {
        const { id, down } = change;
        const name = this.#nameOf(id) ?? down?.name;
        if (name !== undefined) void this.#apply(name, { type: "removed", id, since: down?.since });
      }
    }
  }

  #put(event: Extract<RemoteEvent, Registered>): void {
    const { id, name } = event.remote;
    const former = this.#nameOf(id);
    if (former !== undefined && former !== name) {
      void this.#apply(former, { type: "removed", id, since: undefined });
    }
    void this.#apply(name, event);
  }

  /** Registrations that only this HQ knows win over older ones of the store, and claim a name that another one has. */
  #read(stored: readonly Registered[], down: readonly DownRemote[]): void {
    for (const { remote, version } of stored) {
      const own = this.#states.get(this.#nameOf(remote.id) ?? remote.name);
      const isNews = own?.status === "up" && own.version === undefined;
      const isNewer = isNews && own.remote.lastHeartbeat >= remote.lastHeartbeat;
      if (isNews && (isNewer || own.remote.id !== remote.id)) continue;
      this.#put({ type: "fetched", remote, version });
    }
    const ids = new Set(stored.map(({ remote }) => remote.id));
    const sinceByName = new Map(down.map(({ name, since }) => [name, since]));
    for (const name of new Set([...this.#states.keys(), ...sinceByName.keys()])) {
      const state = this.#states.get(name);
      if (isRegistered(state) && state.version !== undefined && ids.has(state.remote.id)) continue;
      void this.#apply(name, { type: "missing", since: sinceByName.get(name) });
    }
  }
}
