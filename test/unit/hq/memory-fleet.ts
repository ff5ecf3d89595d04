// A fleet whose remotes are sessions in memory and fail on demand.

import { Fleet } from "../../../src/hq/fleet.ts";
import type { Registry } from "../../../src/hq/registry/registry.ts";
import type { TableFile } from "../../../src/hq/registry/tables-file.ts";
import type { RemoteSessionBackend } from "../../../src/hq/remote-connection.ts";
import { KeyedSingleFlight } from "../../../src/lib/async/single-flight.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../../../src/protocol/schemas/session.ts";
import type { UplinkTarget } from "../../../src/remote/uplink.ts";
import type {
  Content,
  RemovalCondition,
  SessionBackend,
  Sink,
  Subscription,
  View,
} from "../../../src/sessions/backend.ts";
import { type MemorySession, MemorySessions } from "../hub/memory-sessions.ts";
import { memoryRegistry, registration } from "./memory-store.ts";

/**
 * One remote. Its watchers know all sessions that are not hidden. Answers wait for `gate`, which may reject; the work
 * itself is done before.
 */
export class MemoryRemote implements RemoteSessionBackend {
  readonly memory = new MemorySessions();
  readonly targets: (UplinkTarget | undefined)[] = [];
  readonly isConnected = true;
  readonly isWatchable = true;
  /** Ids of searches. */
  readonly questions: string[] = [];
  /** Ids of sessions that were not announced yet. */
  readonly hidden = new Set<string>();
  readonly #searches = new KeyedSingleFlight<SessionRecord>();
  gate: Promise<void> = Promise.resolve();
  isDisposed = false;

  get sessions(): MemorySessions["sessions"] {
    return this.memory.sessions;
  }

  /** Adds a session and announces it. */
  add(id: string): MemorySession {
    const session = this.memory.add(id);
    this.announce("session-start", id);
    return session;
  }

  /** Adds a session without announcing it. */
  hide(id: string): MemorySession {
    this.hidden.add(id);
    return this.memory.add(id);
  }

  announce(type: ServerEvent["type"], sessionId: string): void {
    this.memory.announce({ type, timestamp: "", sessionId });
  }

  async send(): Promise<never> {
    throw new ServiceError("host_unreachable", "no requests in memory");
  }

  retarget(target: UplinkTarget | undefined): void {
    this.targets.push(target);
  }

  async caughtUp(): Promise<void> {
    await this.gate;
    for (const id of this.hidden) this.announce("session-changed", id);
    this.hidden.clear();
  }

  all(): readonly SessionRecord[] {
    return this.memory.all().filter(({ id }) => !this.hidden.has(id));
  }

  find(id: string): SessionRecord | Promise<SessionRecord> {
    const isKnown = this.sessions.has(id) && !this.hidden.has(id);
    if (isKnown && this.#searches.running(id) === undefined) return this.memory.find(id);
    return this.#searches.ask(id, async () => {
      this.questions.push(id);
      await this.caughtUp();
      return this.memory.find(id);
    });
  }

  async list(): Promise<readonly SessionRecord[]> {
    return this.all();
  }

  async get(id: string): Promise<SessionRecord> {
    const record = await this.memory.get(id);
    await this.gate;
    return record;
  }

  create(request: CreateSession): Promise<SessionRecord> {
    return this.memory.create(request);
  }

  rename(id: string): Promise<SessionRecord> {
    return this.memory.rename(id);
  }

  remove(id: string, condition?: RemovalCondition): Promise<Removal> {
    return this.memory.remove(id, condition);
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.memory.write(id, input);
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.memory.resize(id, size);
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.memory.kill(id, signal);
  }

  mark(id: string): Promise<void> {
    return this.memory.mark(id);
  }

  view(id: string, view: View): Promise<Content> {
    return this.memory.view(id, view);
  }

  saveFile(): Promise<never> {
    return this.memory.saveFile();
  }

  openFile(): Promise<never> {
    return this.memory.openFile();
  }

  subscribe(id: string, sink: Sink): Promise<Subscription> {
    return this.memory.subscribe(id, sink);
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.memory.watch(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

export class MemoryFleet implements AsyncDisposable {
  readonly fleet: Fleet;
  readonly registry: Registry;
  readonly events: ServerEvent[] = [];
  readonly log: { readonly fields: object; readonly message: string }[] = [];
  readonly #remotes = new Map<string, MemoryRemote>();

  private constructor(registry: Registry, local: SessionBackend | undefined, now: () => Date) {
    this.registry = registry;
    const note = (fields: object, message: string): void => void this.log.push({ fields, message });
    this.fleet = new Fleet({
      ...{ registry, local, log: { info: note, warn: note }, clock: () => now().getTime() },
      targetOf: ({ url, token }) => ({ url, headers: { authorization: token } }),
      connect: (target) => this.remote("url" in target ? target.url : ""),
    });
    this.fleet.watch((event) => this.events.push(event));
  }

  static async of(
    options: {
      readonly local?: SessionBackend;
      readonly isAlive?: () => Promise<boolean>;
      readonly store?: TableFile;
      readonly now?: () => Date;
    } = {},
  ): Promise<MemoryFleet> {
    const { local, ...parts } = options;
    return new MemoryFleet(await memoryRegistry(parts), local, options.now ?? (() => new Date()));
  }

  /** The remote at an address, joined or not. */
  remote(url: string): MemoryRemote {
    const known = this.#remotes.get(url) ?? new MemoryRemote();
    this.#remotes.set(url, known);
    return known;
  }

  /** Adds a remote of that name with these sessions. */
  async join(name: string, sessionIds: readonly string[] = []): Promise<MemoryRemote> {
    const remote = this.remote(registration(name).url);
    for (const id of sessionIds) remote.add(id);
    await this.registry.register(registration(name));
    await settled();
    return remote;
  }

  async ids(): Promise<readonly string[]> {
    return (await this.fleet.list()).map(({ id }) => id).toSorted();
  }

  /** The types of the events of a session, or of those of no session. */
  told(sessionId?: string): readonly string[] {
    return this.events.filter((event) => event.sessionId === sessionId).map(({ type }) => type);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.fleet[Symbol.asyncDispose]();
  }
}

/** Resolves after all work that waits for nothing. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
