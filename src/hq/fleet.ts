// Many machines as one backend. The list is what is known here and waits for nobody; everything else goes to the owner.
import { withDeadline } from "../lib/async/deadline.ts";
import { Emitter } from "../lib/async/emitter.ts";
import type { Send } from "../protocol/client/send.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import { HEALTH_CHECK_INTERVAL_MS, HEALTH_CHECK_TIMEOUT_MS } from "../protocol/limits.ts";
import { LOCAL } from "../protocol/schemas/remote.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { Content, SessionBackend, Sink, Subscription, View } from "../sessions/backend.ts";
import { KnownSessions } from "./known-sessions.ts";
import { Ownership } from "./ownership.ts";
import { reach } from "./reach.ts";
import type { Registry, RegistryChange, Remote } from "./registry/registry.ts";
import type { RemoteSessionBackend } from "./remote-backend.ts";
import { RemoteConnection } from "./remote-connection.ts";
import { Search } from "./search.ts";

export type FleetLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

export type FleetOptions = {
  readonly registry: Registry;
  readonly connect: (target: UplinkTarget) => RemoteSessionBackend;
  readonly targetOf: (remote: Remote) => UplinkTarget;
  /** The HQ's own sessions, where it has some. */
  readonly local: SessionBackend | undefined;
  readonly log: FleetLog;
};

type Guest = { readonly member: RemoteConnection; readonly backend: RemoteSessionBackend };

export class Fleet implements SessionBackend {
  readonly #options: FleetOptions;
  /** By name: a machine that comes back as another process is the same one to whoever watches its sessions. */
  readonly #guests = new Map<string, Guest>();
  /** Not in the registry any more, but watched by somebody: these go on where they stood when it comes back. */
  readonly #away = new Map<string, Guest>();
  readonly #local: RemoteConnection | undefined;
  readonly #owners = new Ownership<RemoteConnection>();
  readonly #search = new Search({
    ...{ members: () => this.#members(), owners: this.#owners },
    silent: () => this.#options.registry.silent,
  });
  readonly #known = new KnownSessions({ members: () => this.#members(), owners: this.#owners });
  readonly #events = new Emitter<ServerEvent>();
  readonly #watching: Disposable;
  readonly #reading: NodeJS.Timeout | undefined;

  constructor(options: FleetOptions) {
    this.#options = options;
    const { local, registry } = options;
    if (local !== undefined) {
      const member = this.#follow(new RemoteConnection({ id: LOCAL, name: LOCAL }, local));
      this.#local = member;
      void this.#readSoon(member);
      // As remotes are: what could not be read when it was heard of is read some time.
      this.#reading = setInterval(() => void this.#readSoon(member), HEALTH_CHECK_INTERVAL_MS).unref();
    }
    this.#watching = registry.watch((change) => this.#registryChanged(change));
    for (const remote of registry.remotes) this.#join(remote);
  }

  /** Sessions of a remote as known here, and the ids among them that another one had first. */
  sessionsOf(name: string): { readonly ids: readonly string[]; readonly conflicts: readonly string[] } {
    const member = this.#guests.get(name)?.member;
    if (member === undefined) return { ids: [], conflicts: [] };
    const conflicts = this.#owners.conflictsOf(member);
    return { ids: [...member.records.keys()].filter((id) => !conflicts.has(id)), conflicts: [...conflicts] };
  }

  /** Reads a remote's list anew and returns how many sessions it has. Throws `remote_not_found`, `remote_unreachable`. */
  async refresh(name: string): Promise<number> {
    const member = this.#guests.get(name)?.member;
    if (member === undefined) throw new ServiceError("remote_not_found", `no remote with the name ${name}`);
    await reach(member.machine, () => member.read());
    return member.records.size;
  }

  /** How requests are sent to a remote. Throws `remote_not_found`. */
  senderOf(name: string): Send {
    const guest = this.#guests.get(name);
    if (guest === undefined) throw new ServiceError("remote_not_found", `no remote with the name ${name}`);
    return guest.backend.send;
  }

  /** Uplinks that are open at this moment: at most one for each remote. */
  get uplinks(): number {
    return [...this.#guests.values(), ...this.#away.values()].filter(({ backend }) => backend.isConnected)
      .length;
  }

  /** Sessions whose program runs, as far as known here. */
  get running(): number {
    return this.#known.running;
  }

  /** The same array until something has changed. */
  async list(): Promise<readonly SessionRecord[]> {
    return this.#known.records;
  }

  async get(id: string): Promise<SessionRecord> {
    const member = await this.#search.ownerOf(id);
    return await member.learn(id, () => reach(member.machine, () => member.sessions.get(id)));
  }

  async create({ remoteId, ...request }: CreateSession): Promise<SessionRecord> {
    const member = this.#chosen(remoteId);
    const owner = request.id === undefined ? member : (this.#owners.of(request.id) ?? member);
    // An id that another machine has would lead there; whether it is free on its own machine, that one knows.
    if (owner !== member) throw new ServiceError("session_exists", `session ${request.id} exists already`);
    return await member.make(() => reach(member.machine, () => member.sessions.create(request)));
  }

  async rename(id: string, name: string): Promise<SessionRecord> {
    const member = await this.#search.ownerOf(id);
    return await member.learn(id, () => reach(member.machine, () => member.sessions.rename(id, name)));
  }

  async remove(id: string): Promise<Removal> {
    const member = await this.#search.ownerOf(id);
    const removal = await reach(member.machine, () => member.sessions.remove(id));
    if (removal.status === "removed") member.forget(id);
    else await this.get(id).catch(() => undefined);
    return removal;
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.#command(id, (sessions) => sessions.write(id, input));
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.#command(id, (sessions) => sessions.resize(id, size));
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.#command(id, (sessions) => sessions.kill(id, signal));
  }

  mark(id: string, label: string): Promise<void> {
    return this.#forward(id, (sessions) => sessions.mark(id, label));
  }

  view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    return this.#forward(id, (sessions) => sessions.view(id, view, signal));
  }

  async subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription> {
    const member = await this.#search.ownerOf(id);
    const subscription = await reach(member.machine, () => member.subscribe(id, sink, flags));
    const { request } = subscription;
    return {
      ...subscription,
      ...(request && { request: (wanted) => reach(member.machine, () => request(wanted)) }),
      [Symbol.dispose]: () => {
        subscription[Symbol.dispose]();
        this.#forgetUnwatched();
      },
    };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#reading);
    this.#watching[Symbol.dispose]();
    const members = [...this.#members(), ...[...this.#away.values()].map(({ member }) => member)];
    await Promise.all(members.map((member) => member[Symbol.asyncDispose]()));
  }

  /** Nothing is sent to a machine that has left: it might arrive when its connection thaws. */
  #command(id: string, work: (sessions: SessionBackend) => Promise<void>): Promise<void> {
    const owner = this.#owners.of(id);
    if (owner === undefined || this.#isPresent(owner)) return this.#forward(id, work);
    return Promise.reject(new ServiceError("remote_unreachable", `remote ${owner.machine.name} has left`));
  }

  /** Where the owner is known the call is made at once: input leaves in the order of the calls. */
  #forward<T>(id: string, work: (sessions: SessionBackend) => Promise<T>): Promise<T> {
    const begin = (member: RemoteConnection): Promise<T> =>
      reach(member.machine, () => work(member.sessions));
    const located = this.#search.ownerOf(id);
    return located instanceof RemoteConnection ? begin(located) : located.then(begin);
  }

  /** Throws `remote_id_required`, `remote_not_found`. */
  #chosen(remoteId: string | undefined): RemoteConnection {
    if (remoteId === undefined) {
      throw new ServiceError(
        "remote_id_required",
        "say on which machine, as remoteId: GET /api/remotes has them",
      );
    }
    const member = this.#members().find(({ machine }) => machine.id === remoteId);
    if (member !== undefined) return member;
    const own = "start the HQ with --hq-sessions for sessions of its own";
    const hint = remoteId === LOCAL ? own : "GET /api/remotes has them";
    throw new ServiceError("remote_not_found", `no remote with the id ${remoteId}: ${hint}`);
  }

  #members(): readonly RemoteConnection[] {
    const guests = [...this.#guests.values()].map(({ member }) => member);
    return this.#local === undefined ? guests : [this.#local, ...guests];
  }

  #registryChanged({ kind, remote }: RegistryChange): void {
    if (kind === "left") this.#leave(remote);
    else this.#join(remote);
  }

  #join(remote: Remote): void {
    const present = this.#guests.get(remote.name);
    const guest = present ?? this.#away.get(remote.name) ?? this.#welcome(remote);
    this.#away.delete(remote.name);
    this.#guests.set(remote.name, guest);
    guest.backend.retarget(this.#options.targetOf(remote));
    guest.member.machine = remote;
    // One that comes back with the sessions that it had has not changed, but the list has.
    this.#settle(guest.member);
    const reading = this.#readSoon(guest.member);
    if (present === undefined) void reading.then(() => this.#introduce(guest, remote));
  }

  /** When its sessions are in the list: whoever is told reads that. */
  #introduce(guest: Guest, remote: Remote): void {
    if (this.#guests.get(remote.name) === guest) this.#tell("remote-joined", remote);
  }

  #welcome(remote: Remote): Guest {
    const { connect, targetOf } = this.#options;
    const backend = connect(targetOf(remote));
    return { backend, member: this.#follow(new RemoteConnection(remote, backend)) };
  }

  /** A machine that does not answer now is read again when its uplink is open or it registers again. */
  async #readSoon(member: RemoteConnection): Promise<void> {
    const { name } = member.machine;
    const read = withDeadline(member.read(), HEALTH_CHECK_TIMEOUT_MS, `the sessions of ${name}`);
    await read.catch(() => undefined);
  }

  #follow(member: RemoteConnection): RemoteConnection {
    member.onChange((change) => {
      if (!this.#isPresent(member)) return;
      if (change.kind === "sessions") this.#settle(member);
      else if (this.#isOwner(member, change.event.sessionId))
        this.#events.emit({ ...change.event, remoteName: member.machine.name });
    });
    return member;
  }

  /** What happens to a session that another machine had first concerns nobody: its id means the other one. */
  #isOwner(member: RemoteConnection, sessionId: string | undefined): boolean {
    return sessionId === undefined || (this.#owners.of(sessionId) ?? member) === member;
  }

  #isPresent(member: RemoteConnection): boolean {
    return member === this.#local || this.#guests.get(member.machine.name)?.member === member;
  }

  #leave(remote: Remote): void {
    const guest = this.#guests.get(remote.name);
    if (guest === undefined || guest.member.machine.id !== remote.id) return;
    this.#guests.delete(remote.name);
    this.#away.set(remote.name, guest);
    this.#known.outdate();
    this.#tell("remote-left", remote);
    this.#forgetUnwatched();
  }

  /** Until nobody watches, its sessions are its own: who types into one is told that the machine is away. */
  #forgetUnwatched(): void {
    for (const [name, { member }] of this.#away) {
      if (member.isWatched) continue;
      this.#away.delete(name);
      this.#owners.release(member);
      this.#known.outdate();
      void member[Symbol.asyncDispose]();
    }
  }

  #settle(member: RemoteConnection): void {
    this.#known.outdate();
    const { log } = this.#options;
    for (const session of this.#owners.settle(member, new Set(member.records.keys()))) {
      log.warn({ remote: member.machine.name, session }, "session id is another machine's already");
    }
  }

  #tell(type: "remote-joined" | "remote-left", { id, name, url }: Remote): void {
    this.#options.log.info({ remote: name, url }, type === "remote-joined" ? "remote joined" : "remote left");
    this.#events.emit({ type, timestamp: new Date().toISOString(), remoteId: id, remoteName: name });
  }
}
