// The sessions of all remotes as one backend. Lists are answered from memory; other requests go to the session's remote.
import { withDeadline } from "../lib/async/deadline.ts";
import { Emitter } from "../lib/async/emitter.ts";
import { succeeded } from "../lib/async/succeeded.ts";
import { ExpiringMap } from "../lib/data/expiring-map.ts";
import { isLoopbackName, urlHost } from "../lib/net/address.ts";
import type { Log } from "../log.ts";
import type { Send } from "../protocol/client/send.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type ServerEvent, sessionEvent } from "../protocol/frame/event.ts";
import { DOWN_REMOTE_MEMORY_MS, HEALTH_CHECK_TIMEOUT_MS, MAX_DEPARTED_SESSIONS } from "../protocol/limits.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import { DIALLED_URL, type Labels, LOCAL } from "../protocol/schemas/remote.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type {
  Content,
  NewFile,
  RemovalCondition,
  SessionBackend,
  Sink,
  Subscription,
  View,
} from "../sessions/backend.ts";
import { placed } from "./placement.ts";
import type { Registry } from "./registry/registry.ts";
import { RemoteConnection, type RemoteSessionBackend } from "./remote-connection.ts";
import type { Remote } from "./remote-state.ts";
import { Search } from "./search.ts";
import { SessionIndex } from "./session-index.ts";

/** Between two warnings of a remote about ids that another remote has. */
const CONFLICT_LOG_INTERVAL_MS = 60_000;

export type FleetOptions = {
  readonly registry: Registry;
  readonly connect: (target: UplinkTarget, name: string) => RemoteSessionBackend;
  readonly targetOf: (remote: Remote) => UplinkTarget;
  readonly local: SessionBackend | undefined;
  readonly log: Pick<Log, "info" | "warn">;
  /** Milliseconds, monotonic; by default the clock of the process. */
  readonly clock?: () => number;
};

export class Fleet implements SessionBackend {
  readonly #options: FleetOptions;
  /**
   * By name, so that viewers keep their sessions when a remote restarts. A remote that has left stays here while its
   * sessions have viewers, who continue at the same byte when it returns, under this name or another one.
   */
  readonly #remotes = new Map<string, RemoteConnection<RemoteSessionBackend>>();
  readonly #local: RemoteConnection | undefined;
  readonly #index = new SessionIndex<RemoteConnection>();
  /** By session id: the name of the remote that left with the session. A remote that restarts leaves and returns with them. */
  readonly #departed: ExpiringMap<string, string>;
  readonly #search: Search;
  readonly #events = new Emitter<ServerEvent>();
  readonly #watching: Disposable;
  /** Resolves when the sessions of the remotes that were registered at the start are in the list, without those that are late. */
  readonly introduced: Promise<unknown>;
  readonly #now: () => number;

  constructor(options: FleetOptions) {
    this.#options = options;
    const { local, registry, clock: now = () => performance.now() } = options;
    this.#now = now;
    const maxEntries = MAX_DEPARTED_SESSIONS;
    this.#departed = new ExpiringMap({ lifetimeMs: DOWN_REMOTE_MEMORY_MS, maxEntries, now });
    if (local !== undefined) {
      this.#local = new RemoteConnection({ id: LOCAL, name: LOCAL }, local, this.#heard);
      this.#announceSessions(this.#local);
    }
    this.#search = new Search({
      ...{ remotes: () => this.#listedRemotes(), index: this.#index, registry },
      departedRemote: (sessionId) => this.#departedRemote(sessionId),
    });
    this.#watching = registry.watch(({ kind, remote }) => {
      if (kind === "left") this.#leave(remote);
      else void this.#register(remote, kind === "joined");
    });
    this.introduced = Promise.all(registry.remotes.map((remote) => this.#register(remote, true)));
  }

  /** The known sessions of a remote; `conflicts`: those whose ids another remote had first. */
  sessionsOf(name: string): { readonly ids: readonly string[]; readonly conflicts: readonly string[] } {
    const remote = this.#remote(name);
    const ids = [...(remote?.records.keys() ?? [])];
    const isOwn = (id: string): boolean => this.#index.ownerOf(id) === remote;
    return { ids: ids.filter(isOwn), conflicts: ids.filter((id) => !isOwn(id)) };
  }

  /** Resolves with the number of sessions that a remote has now. Throws `remote_not_found`, `remote_unreachable`. */
  async refresh(name: string): Promise<number> {
    const remote = this.#named(name);
    await remote.reach((sessions) => sessions.caughtUp());
    return remote.records.size;
  }

  /** As `refresh`, but only for a remote that sends no events of its sessions. */
  async refreshUnwatched(name: string): Promise<void> {
    if (this.#remote(name)?.sessions.isWatchable === false) await this.refresh(name);
  }

  senderOf(name: string): Send {
    return this.#named(name).sessions.send;
  }

  get uplinks(): number {
    return [...this.#remotes.values()].filter(({ sessions }) => sessions.isConnected).length;
  }

  get running(): number {
    return this.#index.running;
  }

  /** Returns the same array until something changes. */
  async list(): Promise<readonly SessionRecord[]> {
    return this.all();
  }

  /** Newest first. */
  all(): readonly SessionRecord[] {
    return this.#index.all();
  }

  find(id: string): SessionRecord | Promise<SessionRecord> {
    const recordOf = (remote: RemoteConnection): SessionRecord => {
      const record = remote.records.get(id);
      if (record === undefined) throw new ServiceError("session_not_found", `no session ${id}`);
      return record;
    };
    const owner = this.#search.ownerOf(id);
    return owner instanceof Promise ? owner.then(recordOf) : recordOf(owner);
  }

  async get(id: string): Promise<SessionRecord> {
    const remote = await this.#search.ownerOf(id);
    return remote.labelled(await remote.reach((sessions) => sessions.get(id)));
  }

  async create({ remoteId, labels, ...request }: CreateSession): Promise<SessionRecord> {
    const remote = this.#chosen(remoteId, labels);
    const owner = request.id === undefined ? remote : (this.#index.ownerOf(request.id) ?? remote);
    // The id would lead to the other remote. The chosen remote itself checks whether the id is free there.
    if (owner !== remote) throw new ServiceError("session_exists", `session ${request.id} exists already`);
    remote.starting += 1;
    try {
      const record = await remote.reach((sessions) => sessions.create(request));
      const { id } = record;
      if ((this.#index.ownerOf(id) ?? remote) === remote) return remote.labelled(record);
      // The caller would take the other session for the new one, and type into it.
      const what = `remote ${remote.label.name} has given its session the id ${id}, which another remote has`;
      throw new ServiceError("session_exists", `${what}: it cannot be reached`);
    } finally {
      remote.starting -= 1;
    }
  }

  async rename(id: string, name: string): Promise<SessionRecord> {
    const remote = await this.#search.ownerOf(id);
    return remote.labelled(await remote.reach((sessions) => sessions.rename(id, name)));
  }

  remove(id: string, condition?: RemovalCondition): Promise<Removal> {
    return this.#forward(id, (sessions) => sessions.remove(id, condition));
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.#forward(id, (sessions) => sessions.write(id, input));
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.#forward(id, (sessions) => sessions.resize(id, size));
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.#forward(id, (sessions) => sessions.kill(id, signal));
  }

  mark(id: string, label: string): Promise<void> {
    return this.#forward(id, (sessions) => sessions.mark(id, label));
  }

  view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    return this.#forward(id, (sessions) => sessions.view(id, view, signal));
  }

  saveFile(id: string, file: NewFile, signal: AbortSignal): Promise<SavedFile> {
    return this.#forward(id, (sessions) => sessions.saveFile(id, file, signal));
  }

  openFile(id: string, path: string, signal: AbortSignal): Promise<Content> {
    return this.#forward(id, (sessions) => sessions.openFile(id, path, signal));
  }

  async subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription> {
    const remote = await this.#search.ownerOf(id);
    const subscription = await remote.reach((sessions) => sessions.subscribe(id, sink, flags));
    const { record, request } = subscription;
    remote.viewers.add(subscription);
    return {
      ...subscription,
      record: remote.labelled(record),
      ...(request && { request: (wanted) => remote.reach(() => request(wanted)) }),
      [Symbol.dispose]: () => {
        if (!remote.viewers.delete(subscription)) return;
        subscription[Symbol.dispose]();
        this.#forgetUnwatched();
      },
    };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    const all = [...(this.#local === undefined ? [] : [this.#local]), ...this.#remotes.values()];
    await Promise.all(all.map((remote) => remote[Symbol.asyncDispose]()));
  }

  /** If the owner is known, the call is made synchronously, so that input keeps the order of the calls. */
  #forward<T>(id: string, work: (sessions: SessionBackend) => Promise<T>): Promise<T> {
    const owner = this.#search.ownerOf(id);
    return owner instanceof Promise ? owner.then((remote) => remote.reach(work)) : owner.reach(work);
  }

  /** Throws `remote_id_required`, `remote_not_found`, `cordoned`. */
  #chosen(remoteId: string | undefined, labels: Labels | undefined): RemoteConnection {
    if (labels !== undefined) {
      if (remoteId === undefined)
        return placed(
          [...this.#remotes.values()].filter(({ isListed }) => isListed),
          labels,
        );
      throw new ServiceError("invalid_request", "remoteId and labels are both set: set one of them");
    }
    if (remoteId === undefined) {
      throw new ServiceError(
        "remote_id_required",
        "remoteId is missing: GET /api/remotes lists the remotes, `ttyhq run --machine` names one",
      );
    }
    const remote = this.#listedRemotes().find(({ label }) => label.id === remoteId);
    if (remote !== undefined) return remote;
    const own = "start the HQ with --hq-sessions for sessions of its own";
    const hint = remoteId === LOCAL ? own : "GET /api/remotes lists the remotes";
    throw new ServiceError("remote_not_found", `no remote with the id ${remoteId}: ${hint}`);
  }

  #named(name: string): RemoteConnection<RemoteSessionBackend> {
    const remote = this.#remote(name);
    if (remote !== undefined) return remote;
    throw new ServiceError("remote_not_found", `no remote with the name ${name}`);
  }

  #remote(name: string): RemoteConnection<RemoteSessionBackend> | undefined {
    const remote = this.#remotes.get(name);
    return remote?.isListed === true ? remote : undefined;
  }

  #listedRemotes(): readonly RemoteConnection[] {
    const remotes = [...this.#remotes.values()].filter(({ isListed }) => isListed);
    return this.#local === undefined ? remotes : [this.#local, ...remotes];
  }

  /** Resolves when the remote has been introduced, if it is new. */
  #register(registered: Remote, isNew: boolean): Promise<void> | undefined {
    const { connect, targetOf } = this.#options;
    const target = targetOf(registered);
    const known = this.#remotes.get(registered.name) ?? this.#takeRenamed(registered);
    const remote = known ?? new RemoteConnection(registered, connect(target, registered.name), this.#heard);
    this.#remotes.set(registered.name, remote);
    remote.sessions.retarget(target);
    remote.isListed = true;
    const isRelabelled = remote.relabel(registered);
    if (isNew || isRelabelled) this.#announceSessions(remote);
    return isNew ? this.#introduce(remote, registered) : undefined;
  }

  /** The remote with that id that has left under another name, which it has no longer. */
  #takeRenamed({ id }: Remote): RemoteConnection<RemoteSessionBackend> | undefined {
    const left = [...this.#remotes].find(([, { isListed, label }]) => !isListed && label.id === id);
    if (left === undefined) return undefined;
    const [formerName, remote] = left;
    this.#remotes.delete(formerName);
    return remote;
  }

  #announceSessions(remote: RemoteConnection): void {
    for (const record of remote.records.values())
      this.#heard(remote, sessionEvent("session-changed", record));
  }

  /** Clients read the list when they hear of the remote, so its sessions have to be in it. */
  async #introduce(remote: RemoteConnection<RemoteSessionBackend>, registered: Remote): Promise<void> {
    const what = `the sessions of ${registered.name}`;
    await succeeded(withDeadline(remote.sessions.caughtUp(), HEALTH_CHECK_TIMEOUT_MS, what));
    if (remote.isListed) this.#tell("remote-joined", registered);
  }

  readonly #heard = (remote: RemoteConnection, event: ServerEvent): void => {
    const { type, sessionId, record } = event;
    if (record !== undefined && this.#index.claim(record.id, remote)) this.#warnOfConflict(remote, record.id);
    if (sessionId !== undefined) this.#index.refresh(sessionId);
    // If another remote had the id first, the id means that remote's session, and this event is not reported.
    const isOwner = sessionId === undefined || (this.#index.ownerOf(sessionId) ?? remote) === remote;
    if (isOwner && remote.isListed) this.#events.emit(event);
    if (type === "session-removed" && sessionId !== undefined && !remote.records.has(sessionId))
      this.#release(sessionId, remote);
  };

  /** Remotes choose the ids, and one must not fill the disk of the HQ. All conflicts are in the record of the remote. */
  #warnOfConflict(remote: RemoteConnection, session: string): void {
    const now = this.#now();
    if (now - remote.conflictLoggedMs < CONFLICT_LOG_INTERVAL_MS) return;
    remote.conflictLoggedMs = now;
    const fields = { remote: remote.label.name, session };
    this.#options.log.warn(fields, "another remote already has the session id");
  }

  /** The id is free now, or belongs to the next remote that has it. */
  #release(sessionId: string, remote: RemoteConnection): void {
    const next = this.#index.release(sessionId, remote);
    if (next !== undefined) this.#events.emit(sessionEvent("session-changed", next));
  }

  #leave({ id, name, url }: Remote): void {
    const remote = this.#remotes.get(name);
    if (remote?.label.id !== id) return;
    for (const sessionId of remote.records.keys()) {
      if (this.#index.ownerOf(sessionId) === remote) this.#departed.set(sessionId, name);
    }
    // A remote that is alive sees its connection close and registers again.
    remote.isListed = false;
    remote.sessions.retarget(undefined);
    for (const sessionId of remote.records.keys()) this.#index.refresh(sessionId);
    this.#tell("remote-left", { id, name, url });
    this.#forgetUnwatched();
  }

  #departedRemote(sessionId: string): string | undefined {
    const name = this.#departed.get(sessionId);
    return name === undefined || this.#remote(name) !== undefined ? undefined : name;
  }

  /** The sessions of an unlisted remote are kept while they have viewers, whose input is refused as `remote_unreachable`. */
  #forgetUnwatched(): void {
    for (const [name, remote] of this.#remotes) {
      if (remote.isListed || remote.viewers.size > 0) continue;
      this.#remotes.delete(name);
      for (const sessionId of remote.records.keys()) this.#release(sessionId, remote);
      void remote[Symbol.asyncDispose]();
    }
  }

  #tell(type: "remote-joined" | "remote-left", { id, name, url }: Pick<Remote, "id" | "name" | "url">): void {
    const { log } = this.#options;
    log.info({ remote: name, url }, type === "remote-joined" ? "remote joined" : "remote left");
    if (type === "remote-joined" && isExposed(url)) {
      log.warn(
        { remote: name, url },
        "the token and all input of the remote are sent without TLS: give it a certificate, or use --hq-dial",
      );
    }
    this.#events.emit({ type, timestamp: new Date().toISOString(), remoteId: id, remoteName: name });
  }
}

/** Whether requests to that address pass a network without TLS. */
function isExposed(url: string): boolean {
  const address = new URL(url);
  return address.protocol === "http:" && url !== DIALLED_URL && !isLoopbackName(urlHost(address));
}
