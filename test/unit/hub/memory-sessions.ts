// Sessions in memory, for the hub: a small but complete SessionBackend. A session is its journal, an array of events.

import { Emitter } from "../../../src/lib/async/emitter.ts";
import { concatBytes } from "../../../src/lib/data/collect.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import {
  exitEvent,
  resizeEvent,
  type ServerEvent,
  type SessionEvent,
  sessionEvent,
} from "../../../src/protocol/frame/event.ts";
import { encodeOutputFrame } from "../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../src/protocol/frame/payload.ts";
import { encodeResync } from "../../../src/protocol/frame/resync.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../../../src/protocol/schemas/session.ts";
import { incompleteUtf8Bytes } from "../../../src/protocol/whole-characters.ts";
import type {
  Content,
  Delivery,
  RemovalCondition,
  SessionBackend,
  Sink,
  Subscription,
  View,
} from "../../../src/sessions/backend.ts";

type Entry =
  | { readonly offset: number; readonly bytes: Uint8Array }
  | { readonly offset: number; readonly event: SessionEvent };

const CREATED = "2026-01-01T00:00:00.000Z";

export class MemorySession {
  readonly id: string;
  readonly journal: Entry[] = [];
  readonly input: Uint8Array[] = [];
  readonly signals: SignalName[] = [];
  /** Bytes before this are not held any more. */
  held = 0;
  sink: Sink | undefined;
  size: TerminalSize = { cols: 80, rows: 24 };
  created = CREATED;
  exitCode: number | undefined;

  constructor(id: string) {
    this.id = id;
    this.#record({ offset: 0, event: resizeEvent(this.size) });
  }

  get end(): number {
    const last = this.journal.at(-1);
    if (last === undefined) return 0;
    return "bytes" in last ? last.offset + last.bytes.length : last.offset;
  }

  get bytes(): Uint8Array {
    return concatBytes(this.journal.flatMap((entry) => ("bytes" in entry ? [entry.bytes] : [])));
  }

  print(output: string | Uint8Array): void {
    const bytes = bytesOf(output);
    const offset = this.end;
    this.#record({ offset, bytes });
    this.sink?.({ kind: "output", offset, bytes, frame: encodeOutputFrame(this.id, offset, bytes) });
  }

  /** Output that this process does not receive, as if it could not keep up with the session's host. */
  skip(output: string | Uint8Array): void {
    this.#record({ offset: this.end, bytes: bytesOf(output) });
    this.sink?.({ kind: "resync", ...this.screen });
  }

  resize(size: TerminalSize): void {
    this.size = size;
    this.#event(resizeEvent(size));
  }

  title(title: string): void {
    this.#event({ kind: "title", title });
  }

  exit(code: number): void {
    this.exitCode = code;
    this.#event(exitEvent(this.id, code, undefined));
  }

  /** The upstream gives it up. */
  lose(error: ServiceError): void {
    this.sink?.({ kind: "lost", error });
  }

  /** May end with the beginning of a character. */
  get screen() {
    const text = new TextEncoder().encode(`screen at ${this.end}.`);
    const { bytes } = this;
    const cut = bytes.subarray(bytes.length - incompleteUtf8Bytes(bytes));
    return { offset: this.end, size: this.size, bytes: concatBytes([text, cut]) };
  }

  get record(): SessionRecord {
    const { id, created } = this;
    return {
      ...{ id, sessionId: id, name: id, created, startedAt: created, lastModified: created },
      ...{ command: ["sh"], cwd: "/", workingDir: "/", ...this.size, outputBytes: this.end, viewers: 0 },
      status: this.exitCode === undefined ? "running" : "exited",
      ...(this.exitCode === undefined ? {} : { exitCode: this.exitCode }),
    };
  }

  #event(event: SessionEvent): void {
    this.#record({ offset: this.end, event });
    this.sink?.({ kind: "event", offset: this.end, event });
  }

  #record(entry: Entry): void {
    this.journal.push(entry);
  }
}

export class MemorySessions implements SessionBackend {
  readonly sessions = new Map<string, MemorySession>();
  readonly #events = new Emitter<ServerEvent>();
  /** The last session of each id, including removed ones. */
  readonly #last = new Map<string, MemorySession>();
  /** Every view waits for this before it answers, and a body before each piece. */
  turn: () => Promise<void> = async () => {};
  /** The answers of `list` and `get`, made at the call, wait for this. */
  answer: () => Promise<void> = async () => {};
  /** Commands wait for this. */
  command: () => Promise<void> = async () => {};
  /** The errors of the next views. */
  readonly viewFailures: unknown[] = [];
  readonly views: View[] = [];
  pieceBytes = 64 * 1024;

  /** Holds the answers of `list` and `get` until `release` is called. `asked` resolves at the first call. */
  holdAnswers(): { readonly asked: Promise<void>; readonly release: () => void } {
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.answer = () => {
      asked.resolve();
      return gate.promise;
    };
    return { asked: asked.promise, release: gate.resolve };
  }

  add(id: string): MemorySession {
    const session = new MemorySession(id);
    this.sessions.set(id, session);
    this.#last.set(id, session);
    return session;
  }

  /** With what an event says of a session that is here, or was here last. */
  announce(event: ServerEvent): void {
    const { type, sessionId = "" } = event;
    const session = this.sessions.get(sessionId) ?? this.#last.get(sessionId);
    this.#events.emit(session === undefined ? event : { ...sessionEvent(type, session.record), ...event });
  }

  async list(): Promise<readonly SessionRecord[]> {
    const records = [...this.sessions.values()].map(({ record }) => record);
    await this.answer();
    return records;
  }

  all(): readonly SessionRecord[] {
    return [...this.sessions.values()].map(({ record }) => record);
  }

  find(id: string): SessionRecord {
    return this.#session(id).record;
  }

  async get(id: string): Promise<SessionRecord> {
    const { record } = this.#session(id);
    await this.answer();
    return record;
  }

  async create({ id = "new" }: CreateSession): Promise<SessionRecord> {
    const { record } = this.add(id);
    this.announce({ type: "session-start", timestamp: CREATED, sessionId: id });
    return record;
  }

  async rename(id: string): Promise<SessionRecord> {
    return this.get(id);
  }

  async remove(id: string, condition?: RemovalCondition): Promise<Removal> {
    const { exitCode } = this.#session(id);
    if (condition === "running" && exitCode !== undefined)
      return { success: true, status: "exited", exitCode };
    this.sessions.delete(id);
    this.announce({ type: "session-removed", timestamp: CREATED, sessionId: id });
    return { success: true, status: "removed" };
  }

  async write(id: string, input: Uint8Array): Promise<void> {
    const session = this.#running(id);
    session.input.push(input);
    await this.command();
  }

  async resize(id: string, size: TerminalSize): Promise<void> {
    this.#running(id).resize(size);
    await this.command();
  }

  async kill(id: string, signal: SignalName): Promise<void> {
    this.#running(id).signals.push(signal);
    await this.command();
  }

  async mark(id: string): Promise<void> {
    this.#running(id);
  }

  async view(id: string, view: View): Promise<Content> {
    this.views.push(view);
    await this.turn();
    if (this.viewFailures.length > 0) throw this.viewFailures.shift();
    const session = this.#session(id);
    if (view.kind === "output") return this.#output(session, view.from, view.to);
    return { type: "application/octet-stream", body: this.#pieces(viewOf(session, view)) };
  }

  async saveFile(): Promise<never> {
    throw new ServiceError("forbidden", "there are no files");
  }

  async openFile(): Promise<never> {
    throw new ServiceError("forbidden", "there are no files");
  }

  async subscribe(id: string, sink: Sink): Promise<Subscription> {
    const session = this.#session(id);
    if (session.sink !== undefined)
      throw new ServiceError("session_exists", `session ${id} has a subscriber`);
    session.sink = sink;
    const { end, record, exitCode } = session;
    if (exitCode !== undefined) sink(exitOf(session, exitCode));
    return {
      ...{ offset: end, record },
      [Symbol.dispose]: () => {
        if (session.sink === sink) session.sink = undefined;
      },
    };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #output(session: MemorySession, from: number, to: number): Content {
    if (from < session.held) {
      throw new ServiceError("range_not_satisfiable", `output before byte ${session.held} is not held`);
    }
    return { type: "application/octet-stream", body: this.#pieces(session.bytes.subarray(from, to)) };
  }

  async *#pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < bytes.length; start += this.pieceBytes) {
      await this.turn();
      yield bytes.slice(start, start + this.pieceBytes);
    }
  }

  #session(id: string): MemorySession {
    const session = this.sessions.get(id);
    if (session === undefined) throw new ServiceError("session_not_found", `no session ${id}`);
    return session;
  }

  #running(id: string): MemorySession {
    const session = this.#session(id);
    if (session.exitCode === undefined) return session;
    throw new ServiceError("session_not_running", `session ${id} has ended`);
  }
}

function bytesOf(output: string | Uint8Array): Uint8Array {
  return typeof output === "string" ? new TextEncoder().encode(output) : output;
}

function viewOf(session: MemorySession, view: View): Uint8Array {
  if (view.kind === "resync") return encodeResync(session.screen);
  if (view.kind === "buffer")
    return new TextEncoder().encode(`a snapshot of the screen at byte ${session.end}`);
  if (view.kind !== "events") throw new ServiceError("internal_error", `no view ${view.kind} in memory`);
  return encodeJson(
    session.journal.flatMap((entry) => {
      if ("bytes" in entry || entry.event.kind !== "resize" || entry.offset < view.from) return [];
      return [{ time: 0, offset: entry.offset, kind: "r", data: entry.event.dimensions }];
    }),
  );
}

function exitOf(session: MemorySession, exitCode: number): Delivery {
  return { kind: "event", offset: session.end, event: exitEvent(session.id, exitCode, undefined) };
}
