// Sessions as a session host shows them: with the git status of the folders that they were started in.
import { Emitter } from "../lib/async/emitter.ts";
import { keyOf } from "../protocol/directory/session-change.ts";
import { gitStatusEvent, type ServerEvent, sessionEvent } from "../protocol/frame/event.ts";
import type { CreateSession, GitStatus, SessionRecord } from "../protocol/schemas/session.ts";
import type { SessionBackend, Sink, Subscription } from "./backend.ts";

/** The git status of folders: LocalRepositories. */
export type StatusSource = AsyncDisposable & {
  enter(
    place: { readonly cwd: string; readonly account: string | undefined },
    options: { readonly isLive: boolean; readonly onChange: () => void },
  ): Presence;
  /** A session in that folder has a viewer. */
  viewed(cwd: string): Disposable;
  /** A client lists the sessions. */
  asked(): void;
  /** Events about repositories. */
  on(listener: (event: ServerEvent) => void): Disposable;
};

/** The system user that a session runs as; `undefined`: unknown. */
export type AccountOf = (sessionId: string) => { readonly account: string | undefined } | undefined;

/** Sessions of this process. */
type Terminals = Omit<SessionBackend, "find"> & { find(id: string): SessionRecord };

type Presence = Disposable & { readonly status: GitStatus | undefined; ended(): void };

/** A backend whose records carry the git status once it is known; a change of it is a change of the session. */
export class SessionsWithStatus implements SessionBackend {
  readonly remove: SessionBackend["remove"];
  readonly write: SessionBackend["write"];
  readonly resize: SessionBackend["resize"];
  readonly kill: SessionBackend["kill"];
  readonly mark: SessionBackend["mark"];
  readonly view: SessionBackend["view"];
  readonly #backend: Terminals;
  readonly #source: StatusSource;
  readonly #events = new Emitter<ServerEvent>();
  readonly #scope = new DisposableStack();
  /** By key. */
  readonly #presences = new Map<string, Presence>();
  #accountOf: AccountOf | undefined;

  /** Owns both. */
  constructor({ backend, source }: { readonly backend: Terminals; readonly source: StatusSource }) {
    this.#backend = backend;
    this.#source = source;
    this.remove = backend.remove.bind(backend);
    this.write = backend.write.bind(backend);
    this.resize = backend.resize.bind(backend);
    this.kill = backend.kill.bind(backend);
    this.mark = backend.mark.bind(backend);
    this.view = backend.view.bind(backend);
    this.#scope.use(backend.watch((event) => this.#happened(event)));
    this.#scope.use(source.on((event) => this.#events.emit(event)));
  }

  /** The records carry a git status from now on. */
  begin(accountOf: AccountOf): void {
    this.#accountOf = accountOf;
    for (const record of this.#backend.all()) this.#enter(record);
  }

  async list(): Promise<readonly SessionRecord[]> {
    this.#source.asked();
    return (await this.#backend.list()).map((record) => this.#shown(record));
  }

  all(): readonly SessionRecord[] {
    return this.#backend.all().map((record) => this.#shown(record));
  }

  find(id: string): SessionRecord {
    return this.#shown(this.#backend.find(id));
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

  /**
   * Adds events with the counts of changed files, at the beginning and at each change. They have the offset of the output at
   * the beginning.
   */
  async subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription> {
    using stack = new DisposableStack();
    const { record, offset, request } = stack.use(await this.#backend.subscribe(id, sink, flags));
    stack.use(this.#source.viewed(record.cwd));
    let last: string | undefined;
    const tell = (current: SessionRecord): void => {
      const event = gitStatusEvent(id, current);
      const text = JSON.stringify(event);
      // Nothing comes after an exit (contract 1.8).
      if (event === undefined || text === last || current.status === "exited") return;
      last = text;
      sink({ kind: "event", offset: record.outputBytes, event });
    };
    const key = keyOf(record);
    stack.use(
      this.#events.on((event) => {
        if (event.key === key && event.record !== undefined) tell(event.record);
      }),
    );
    const shown = this.#shown(record);
    tell(shown);
    const owned = stack.move();
    return {
      ...{ offset, record: shown, ...(request && { request }) },
      [Symbol.dispose]: () => owned.dispose(),
    };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#scope.dispose();
    this.#presences.clear();
    await this.#source[Symbol.asyncDispose]();
    await this.#backend[Symbol.asyncDispose]();
  }

  #shown(record: SessionRecord): SessionRecord {
    const status = this.#presences.get(keyOf(record))?.status;
    return status === undefined ? record : { ...record, ...status };
  }

  #enter(record: SessionRecord): void {
    const { id, cwd, status } = record;
    const known = this.#accountOf?.(id);
    if (known === undefined) return;
    const presence = this.#source.enter(
      { cwd, account: known.account },
      { isLive: status !== "exited", onChange: () => this.#tell(id) },
    );
    this.#presences.set(keyOf(record), presence);
  }

  #tell(id: string): void {
    this.#events.emit(sessionEvent("session-changed", this.find(id)));
  }

  #happened(event: ServerEvent): void {
    const { type, key, record } = event;
    if (key !== undefined && type === "session-removed") {
      this.#presences.get(key)?.[Symbol.dispose]();
      this.#presences.delete(key);
    }
    if (record !== undefined && !this.#presences.has(keyOf(record))) this.#enter(record);
    if (record?.status === "exited") this.#presences.get(keyOf(record))?.ended();
    this.#events.emit(record === undefined ? event : { ...event, record: this.#shown(record) });
  }
}
