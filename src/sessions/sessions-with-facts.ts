// Sessions as a session host shows them: with what is known of the repositories that they were started in.
import { Emitter } from "../lib/async/emitter.ts";
import { gitStatusEvent, type ServerEvent } from "../protocol/frame/event.ts";
import { MAX_REMOVED_SESSIONS } from "../protocol/limits.ts";
import type {
  CreateSession,
  GitFacts,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";
import type { Content, Delivery, SessionBackend, Sink, Subscription, View } from "./backend.ts";

/** What is known of folders, and kept true as long as somebody is there: LocalRepositories. */
export type FactSource = AsyncDisposable & {
  enter(
    place: { readonly cwd: string; readonly account: string | undefined },
    options: { readonly isLive: boolean; readonly onChange: () => void },
  ): Presence;
  /** Somebody asks for what is known. */
  asked(): void;
  /** Events about repositories. */
  on(listener: (event: ServerEvent) => void): Disposable;
};

/** The system user that a session runs as; `undefined`: nobody knows. */
export type AccountOf = (sessionId: string) => { readonly account: string | undefined } | undefined;

type Presence = Disposable & { readonly facts: GitFacts | undefined; ended(): void };

/** A session, as it was when it was last seen. */
type Present = { readonly presence: Presence; record: SessionRecord };

/**
 * A backend whose records carry git facts. Nothing waits for them: a record has them once they are known, and when they
 * change everybody is told that the session has changed.
 */
export class SessionsWithFacts implements SessionBackend {
  readonly #backend: SessionBackend;
  readonly #source: FactSource;
  readonly #events = new Emitter<ServerEvent>();
  readonly #statuses = new Emitter<{ readonly id: string; readonly facts: GitFacts }>();
  readonly #scope = new DisposableStack();
  /** By the session's id; as many as there are sessions. */
  readonly #present = new Map<string, Present>();
  /** Ids of sessions that are no more: an answer under way may still hold one. The oldest of MAX_REMOVED_SESSIONS goes. */
  readonly #removed = new Set<string>();
  #accountOf: AccountOf | undefined;

  /** Both are disposed of with this. */
  constructor({ backend, source }: { readonly backend: SessionBackend; readonly source: FactSource }) {
    this.#backend = backend;
    this.#source = source;
    this.#scope.use(backend.watch((event) => this.#happened(event)));
  }

  /** From now on facts are known. */
  begin(accountOf: AccountOf): void {
    this.#accountOf = accountOf;
    this.#readAll();
  }

  async list(): Promise<readonly SessionRecord[]> {
    const records = await this.#backend.list();
    this.#source.asked();
    return records.map((record) => this.#shown(record));
  }

  async get(id: string): Promise<SessionRecord> {
    return this.#shown(await this.#backend.get(id));
  }

  async create(request: CreateSession): Promise<SessionRecord> {
    return this.#shown(await this.#backend.create(request));
  }

  async rename(id: string, name: string): Promise<SessionRecord> {
    return this.#shown(await this.#backend.rename(id, name));
  }

  remove(id: string): Promise<Removal> {
    return this.#backend.remove(id);
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.#backend.write(id, input);
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.#backend.resize(id, size);
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.#backend.kill(id, signal);
  }

  mark(id: string, label: string): Promise<void> {
    return this.#backend.mark(id, label);
  }

  view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    return this.#backend.view(id, view, signal);
  }

  async subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription> {
    const status = new StatusTold(id, sink);
    using stack = new DisposableStack();
    const { record, offset, request } = stack.use(await this.#backend.subscribe(id, status.pass, flags));
    status.begin(offset);
    stack.use(this.#statuses.on((changed) => void (changed.id === id && status.tell(changed.facts))));
    const shown = this.#shown(record);
    status.tell(shown);
    const owned = stack.move();
    return {
      ...{ offset, record: shown, ...(request && { request }) },
      [Symbol.dispose]: () => owned.dispose(),
    };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    const stack = new DisposableStack();
    stack.use(this.#events.on(listener));
    stack.use(this.#source.on(listener));
    stack.use(this.#backend.watch(listener));
    return stack;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#scope.dispose();
    this.#present.clear();
    await this.#source[Symbol.asyncDispose]();
    await this.#backend[Symbol.asyncDispose]();
  }

  #shown(record: SessionRecord): SessionRecord {
    const facts = this.#presenceOf(record)?.facts;
    return facts === undefined ? record : { ...record, ...facts };
  }

  /** An answer may be older than what was heard since: of the session that had this id before. */
  #presenceOf(record: SessionRecord): Presence | undefined {
    const known = this.#present.get(record.id);
    if (known === undefined || known.record.created < record.created) return this.#enter(record);
    return known.record.created === record.created ? this.#seen(known, record) : undefined;
  }

  #seen(known: Present, record: SessionRecord): Presence {
    known.record = record;
    if (record.status === "exited") known.presence.ended();
    return known.presence;
  }

  #enter(record: SessionRecord): Presence | undefined {
    const { id, cwd, status } = record;
    const known = this.#accountOf?.(id);
    if (known === undefined || this.#removed.has(id)) return undefined;
    const presence = this.#source.enter(
      { cwd, account: known.account },
      { isLive: status !== "exited", onChange: () => this.#tell(id) },
    );
    this.#present.get(id)?.presence[Symbol.dispose]();
    this.#present.set(id, { presence, record });
    return presence;
  }

  #tell(sessionId: string): void {
    const known = this.#present.get(sessionId);
    if (known === undefined) return;
    this.#statuses.emit({ id: sessionId, facts: known.presence.facts ?? {} });
    const { name: sessionName, owner } = known.record;
    const event = { type: "session-changed", sessionId, sessionName } as const;
    const timestamp = new Date().toISOString();
    this.#events.emit({ ...event, timestamp, ...(owner === undefined ? {} : { owner }) });
  }

  #happened({ type, sessionId }: ServerEvent): void {
    // Of a host that was gone or is another one nothing was heard meanwhile.
    if (type === "connected") this.#readAll();
    if (sessionId === undefined) return;
    if (type === "session-removed") this.#forget(sessionId);
    if (type === "session-start") this.#removed.delete(sessionId);
    if (type === "session-exit") this.#present.get(sessionId)?.presence.ended();
    const isUnknown = (type === "session-start" || type === "session-exit") && !this.#present.has(sessionId);
    if (isUnknown && this.#accountOf !== undefined) void this.get(sessionId).catch(() => undefined);
  }

  #forget(sessionId: string): void {
    this.#present.get(sessionId)?.presence[Symbol.dispose]();
    this.#present.delete(sessionId);
    this.#removed.add(sessionId);
    const [oldest] = this.#removed;
    if (this.#removed.size > MAX_REMOVED_SESSIONS && oldest !== undefined) this.#removed.delete(oldest);
  }

  /** A host that does not answer now is read when it is there again. */
  #readAll(): void {
    const before = [...this.#present.keys()];
    // What is heard from here on is as new as what is read.
    this.#removed.clear();
    const reading = this.list().then((records) => {
      const ids = new Set(records.map(({ id }) => id));
      for (const id of before) if (!ids.has(id)) this.#forget(id);
    });
    void reading.catch(() => undefined);
  }
}

/** A subscription's deliveries, and between them the counts of changed files: at the beginning and when one changes. */
class StatusTold {
  readonly #id: string;
  readonly #sink: Sink;
  /** Offset after what was delivered; `undefined`: nothing was yet. */
  #offset: number | undefined;
  #isOver = false;
  #last: string | undefined;

  constructor(id: string, sink: Sink) {
    this.#id = id;
    this.#sink = sink;
  }

  readonly pass: Sink = (delivery) => {
    // Nothing comes after an exit (contract 1.8).
    if (delivery.kind === "lost" || isExit(delivery)) this.#isOver = true;
    else if (delivery.kind !== "snapshot") this.#offset = endOf(delivery);
    this.#sink(delivery);
  };

  begin(offset: number): void {
    this.#offset ??= offset;
  }

  tell(facts: GitFacts): void {
    const event = gitStatusEvent(this.#id, facts);
    const text = JSON.stringify(event);
    if (event === undefined || text === this.#last || this.#isOver) return;
    this.#last = text;
    this.#sink({ kind: "event", offset: this.#offset ?? 0, event });
  }
}

function isExit(delivery: Delivery): boolean {
  return delivery.kind === "event" && delivery.event.kind === "exit";
}

function endOf(delivery: Exclude<Delivery, { readonly kind: "lost" | "snapshot" }>): number {
  return delivery.kind === "output" ? delivery.offset + delivery.bytes.length : delivery.offset;
}
