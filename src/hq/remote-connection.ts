// One machine of the fleet: its sessions as far as the HQ knows them, and the way to them.
import { isDeepStrictEqual } from "node:util";
import { Emitter } from "../lib/async/emitter.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ExitEvent, ServerEvent } from "../protocol/frame/event.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { SessionBackend, Sink, Subscription } from "../sessions/backend.ts";
import type { Remote } from "./registry/registry.ts";
import { SessionEvents } from "./session-events.ts";

/** What of a machine its sessions are labelled with. */
export type Machine = Pick<Remote, "id" | "name"> & { readonly url?: string };

/** What changed: the sessions that it is known to have, or something that clients are told. */
export type RemoteChange =
  | { readonly kind: "sessions" }
  | { readonly kind: "event"; readonly event: ServerEvent };

export class RemoteConnection implements AsyncDisposable {
  readonly sessions: SessionBackend;
  readonly #changes = new Emitter<RemoteChange>();
  readonly #watching: Disposable;
  readonly #sessionEvents: SessionEvents;
  /**
   * What is asked about single sessions and not answered yet, in the order of asking; of each question the sessions of
   * which something newer is known: no more than are heard of within its time.
   */
  readonly #questions = new Set<Set<string>>();
  #machine: Machine;
  #records = new Map<string, SessionRecord>();
  #running: number | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;
  /** Sessions of which something newer was heard than the list that is being read; `undefined` while none is. */
  #overtaken: Set<string> | undefined;
  /** Of each subscription the session as it was then: whose output its viewers have. */
  readonly #followed = new Set<SessionRecord>();

  constructor(machine: Machine, sessions: SessionBackend) {
    this.#machine = machine;
    this.sessions = sessions;
    this.#sessionEvents = new SessionEvents({
      look: (sessionId) => this.#look(sessionId),
      tell: (event) => this.#tell(event),
    });
    this.#watching = sessions.watch((event) => this.#heard(event));
  }

  get machine(): Machine {
    return this.#machine;
  }

  /** The same machine, perhaps with another id or address. */
  set machine(machine: Machine) {
    this.#machine = machine;
    this.#keep([...this.#records.values()]);
  }

  /** As known here, by id, with whose they are. */
  get records(): ReadonlyMap<string, SessionRecord> {
    return this.#records;
  }

  /** Of how many of them the program runs; counted once for each change. */
  get running(): number {
    this.#running ??= [...this.#records.values()].filter(({ status }) => status === "running").length;
    return this.#running;
  }

  /** Whether somebody follows one of its sessions. */
  get isWatched(): boolean {
    return this.#followed.size > 0;
  }

  onChange(listener: (change: RemoteChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  /**
   * Reads its list; one reading at a time, and one more after it when it was asked for meanwhile. Resolves when what
   * was the case at the call is known.
   */
  read(): Promise<void> {
    if (this.#reading !== undefined) {
      this.#isStale = true;
      return this.#reading;
    }
    this.#reading = this.#readAll().finally(() => {
      this.#reading = undefined;
      this.#overtaken = undefined;
    });
    return this.#reading;
  }

  /** Makes a session and takes over what it was then, unless something newer is known of it by the time of the answer. */
  make(ask: () => Promise<SessionRecord>): Promise<SessionRecord> {
    return this.#asking(async (question) => this.#note(await ask(), question));
  }

  /** Asks about one session and takes the answer over, unless something newer is known of it by then. */
  learn(sessionId: string, ask: () => Promise<SessionRecord>): Promise<SessionRecord> {
    return this.#asking(async (question) => {
      try {
        return this.#note(await ask(), question);
      } catch (error) {
        const isMissing = error instanceof ServiceError && error.code === "session_not_found";
        if (isMissing && !question.has(sessionId)) this.#forget(sessionId, question);
        throw error;
      }
    });
  }

  forget(sessionId: string): void {
    this.#forget(sessionId, undefined);
  }

  async subscribe(sessionId: string, sink: Sink, flags?: number): Promise<Subscription> {
    let followed: SessionRecord | undefined;
    const told: Sink = (delivery) => {
      if (delivery.kind === "event" && delivery.event.kind === "exit") {
        this.#ended(sessionId, followed?.created, delivery.event);
      }
      sink(delivery);
    };
    const { record, ...subscription } = await this.sessions.subscribe(sessionId, told, flags);
    this.#followed.add(record);
    followed = record;
    let isOver = false;
    return {
      ...subscription,
      record: this.#labelled(record),
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#followed.delete(record);
        subscription[Symbol.dispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    await this.sessions[Symbol.asyncDispose]();
  }

  async #asking<T>(work: (question: Set<string>) => Promise<T>): Promise<T> {
    const question = new Set<string>();
    this.#questions.add(question);
    try {
      return await work(question);
    } finally {
      this.#questions.delete(question);
    }
  }

  #note(record: SessionRecord, question: Set<string>): SessionRecord {
    const labelled = this.#labelled(record);
    if (question.has(record.id)) return labelled;
    this.#outdate(record.id, question);
    this.#records.set(record.id, labelled);
    this.#changed();
    return labelled;
  }

  #forget(sessionId: string, question: Set<string> | undefined): void {
    this.#outdate(sessionId, question);
    if (this.#records.delete(sessionId)) this.#changed();
  }

  /**
   * Who is told of the end, and asks for the list, finds it there; the rest of the record follows. `created`: of the
   * session that has ended, where another may have its id by now.
   */
  #ended(sessionId: string, created: string | undefined, { exitCode, signal }: ExitEvent): void {
    const record = this.#records.get(sessionId);
    if (record?.status === "running" && (created ?? record.created) === record.created) {
      const exitedAt = new Date().toISOString();
      this.#outdate(sessionId, undefined);
      this.#records.set(sessionId, { ...record, status: "exited", exitedAt, exitCode, exitSignal: signal });
      this.#changed();
    }
    void this.#look(sessionId);
  }

  /** By the answer to a question, or by what was heard: the list that is being read and earlier questions know less. */
  #outdate(sessionId: string, question: Set<string> | undefined): void {
    this.#overtaken?.add(sessionId);
    for (const earlier of this.#questions) {
      if (earlier === question) return;
      earlier.add(sessionId);
    }
  }

  async #readAll(): Promise<void> {
    do {
      this.#isStale = false;
      await this.#readOnce().catch((error: unknown) => {
        // Who asked meanwhile may be right that it can be read by now, as when the machine has moved.
        if (!this.#isStale) throw error;
      });
    } while (this.#isStale);
  }

  async #readOnce(): Promise<void> {
    const overtaken = new Set<string>();
    this.#overtaken = overtaken;
    const listed = (await this.sessions.list()).filter(({ id }) => !overtaken.has(id));
    const newer = [...this.#records.values()].filter(({ id }) => overtaken.has(id));
    this.#keep([...listed, ...newer]);
  }

  #keep(records: readonly SessionRecord[]): void {
    const before = this.#records;
    this.#records = new Map(records.map((record) => [record.id, this.#kept(record)]));
    const isSame =
      before.size === this.#records.size && [...before].every(([id, one]) => this.#records.get(id) === one);
    if (!isSame) this.#changed();
  }

  /** Labelled. What has not changed stays the same object: others keep what they have made of it. */
  #kept(record: SessionRecord): SessionRecord {
    const labelled = this.#labelled(record);
    const known = this.#records.get(record.id);
    return known !== undefined && isDeepStrictEqual(known, labelled) ? known : labelled;
  }

  #changed(): void {
    this.#running = undefined;
    this.#changes.emit({ kind: "sessions" });
  }

  #heard(event: ServerEvent): void {
    if (event.type === "connected") void this.#catchUp().catch(() => undefined);
    else if (event.sessionId === undefined) this.#tell(event);
    else this.#sessionEvents.heard(event.sessionId, event);
  }

  /** After a cut: what happened meanwhile was told to nobody, so that what is different now is told at once. */
  async #catchUp(): Promise<void> {
    // A copy: what is heard during the reading is noted in the map.
    const before = new Map(this.#records);
    await this.read();
    const replaced = this.#replaced([...before.values(), ...this.#followed]);
    if (replaced.length === 0 && isDeepStrictEqual(before, this.#records)) return;
    const timestamp = new Date().toISOString();
    // What viewers have of the old one is not to be taken for the new one's.
    for (const { id: sessionId, owner } of replaced) {
      const whose = owner === undefined ? {} : { owner };
      const event: ServerEvent = { type: "session-removed", timestamp, sessionId, ...whose };
      this.#changes.emit({ kind: "event", event });
    }
    this.#tell({ type: "session-changed", timestamp });
  }

  /** Those whose id another session has by now, each id once. */
  #replaced(known: readonly SessionRecord[]): readonly SessionRecord[] {
    const isReplaced = ({ id, created }: SessionRecord): boolean =>
      (this.#records.get(id)?.created ?? created) !== created;
    return [...new Map(known.filter(isReplaced).map((one) => [one.id, one])).values()];
  }

  #tell(event: ServerEvent): void {
    this.#changes.emit({ kind: "event", event });
    if (event.type === "session-removed" && event.sessionId !== undefined) this.forget(event.sessionId);
  }

  async #look(sessionId: string): Promise<void> {
    // One that is out of reach is read with the whole list when it is back.
    await this.learn(sessionId, () => this.sessions.get(sessionId)).catch(() => undefined);
  }

  #labelled(record: SessionRecord): SessionRecord {
    const { name, id, url } = this.#machine;
    const labels = { source: name, remoteId: id, remoteName: name };
    return { ...record, ...labels, ...(url === undefined ? {} : { remoteUrl: url }) };
  }
}
