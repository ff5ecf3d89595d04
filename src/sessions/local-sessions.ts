// The terminals of this process.
import { randomUUID } from "node:crypto";
import { type FileHandle, rm } from "node:fs/promises";
import { Emitter } from "../lib/async/emitter.ts";
import { DiskCare } from "../lib/fs/disk-care.ts";
import { Descriptors } from "../lib/os/descriptors.ts";
import { outsideTraces } from "../lib/trace.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type ServerEvent, sessionEvent } from "../protocol/frame/event.ts";
import { KILL_GRACE_MS } from "../protocol/limits.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";
import {
  type Content,
  type NewFile,
  type RemovalCondition,
  type SessionBackend,
  type Sink,
  type Subscription,
  stillRunning,
  type View,
} from "./backend.ts";
import { Journal, type JournalFiles } from "./journal/journal.ts";
import { endProcesses, startTicks } from "./pty/process-tree.ts";
import { type Pty, type PtyExit, type PtyProgram, spawnPty } from "./pty/pty.ts";
import { planLaunch } from "./run-as/launch.ts";
import type { Account } from "./run-as/launch-env.ts";
import type { UserCgroups } from "./run-as/user-cgroups.ts";
import type { Screens } from "./screen/screens.ts";
import { Session } from "./session.ts";
import { SessionMeter } from "./session-meter.ts";
import type { ControlDir } from "./storage/control-dir.ts";
import { recoverSessions } from "./storage/recovery.ts";
import { type Keep, Retention } from "./storage/retention.ts";
import { SessionDisk } from "./storage/session-disk.ts";
import { createFolder, launchFailed } from "./storage/session-folder.ts";
import { isOfAnotherHost, type StoredSession, withoutOwnName } from "./storage/stored-session.ts";
import { isUserUnknown, NO_FILES, placeOf, type StatusSource, type UserFiles } from "./user-folders.ts";
import { openView } from "./views.ts";

type LocalSessionsOptions = {
  readonly controlDir: ControlDir;
  readonly screens: Screens;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  /** The environment of programs; the server's secrets are removed. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  readonly cgroups?: UserCgroups | undefined;
  readonly maxRecordingBytes: number;
  readonly recordInput: boolean;
  /** Retention of ended sessions; `undefined`: unlimited. */
  readonly keep?: Keep | undefined;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Interval of change events for new output, in ms; for tests. */
  readonly outputNewsMs?: number;
};

/** Maximum age of `lastModified` and `outputBytes` in copies of a record, such as an HQ's, in ms. */
const OUTPUT_NEWS_MS = 15_000;

export class LocalSessions implements SessionBackend {
  readonly meter: SessionMeter;
  readonly #options: LocalSessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #events = new Emitter<ServerEvent>();
  /** This process, as new sessions store it. */
  readonly #host = { pid: process.pid, startTicks: startTicks(process.pid) };
  readonly #descriptors: Descriptors;
  readonly #care: DiskCare;
  readonly #disk: SessionDisk;
  /** Pending writes of ended sessions. */
  readonly #finishing = new Set<Promise<unknown>>();
  /** The output of each session when its record was last emitted, in bytes. */
  readonly #emittedBytes = new WeakMap<Session, number>();
  readonly #outputNews: NodeJS.Timeout;
  #retention: Retention | undefined;
  #folders: StatusSource | undefined;
  #files: UserFiles = NO_FILES;
  #isClosed = false;

  constructor(options: LocalSessionsOptions) {
    this.#options = options;
    this.meter = new SessionMeter(options.now);
    const { log, now, controlDir } = options;
    this.#descriptors = new Descriptors(now);
    this.#care = new DiskCare({ log, now, path: controlDir.path });
    this.#disk = new SessionDisk(log, this.#care);
    this.#outputNews = setInterval(() => this.#emitGrown(), options.outputNewsMs ?? OUTPUT_NEWS_MS).unref();
  }

  /** Takes over the sessions of an earlier host, which must have ended. Owns `folders`, the git status of records. */
  async recover(folders?: StatusSource, files = NO_FILES): Promise<void> {
    this.#folders = folders;
    this.#files = files;
    const { account, controlDir, log, now } = this.#options;
    const unreadable = (id: string, error: unknown): void =>
      log.warn({ session: id, error }, "session not readable");
    for (const { wasLost, isRecorded, ...found } of await recoverSessions(controlDir, unreadable)) {
      const { key = randomUUID() } = found.stored;
      const stored = { ...withoutOwnName(found.stored, account.user), key };
      const own = { onEvent: this.#emit, now, recordInput: false, meter: this.meter };
      const session = new Session({ ...found, ...own, stored });
      this.#sessions.set(session.id, session);
      if (wasLost) {
        log.warn({ session: session.id }, "session lost its host");
        const { pid, startTicks } = found.stored;
        const failed = (error: unknown): void =>
          log.warn({ session: session.id, pid, error }, "programs of a lost session not ended");
        if (!isOfAnotherHost(found.stored))
          void endProcesses(pid, startTicks, { graceMs: KILL_GRACE_MS }).catch(failed);
      }
      if (stored.transient === true) this.#keep(this.#discard(session));
      else if (!isRecorded) this.#keep(this.#writeEnd(session));
    }
    folders?.on((event) => this.#events.emit(event));
    for (const session of this.#sessions.values()) this.#enterFolder(session);
    const { keep } = this.#options;
    if (keep === undefined) return;
    const sessions = (): Iterable<Session> => this.#sessions.values();
    this.#retention = new Retention({ keep, log, sessions, discard: (session) => this.#discard(session) });
  }

  async list(): Promise<readonly SessionRecord[]> {
    this.#folders?.asked();
    return this.all();
  }

  all(): readonly SessionRecord[] {
    // Newest first, also within one millisecond.
    const records = [...this.#sessions.values()].reverse().map((session) => session.record);
    return records.sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : 0));
  }

  async get(id: string): Promise<SessionRecord> {
    return this.find(id);
  }

  find(id: string): SessionRecord {
    return this.#session(id).record;
  }

  async create(request: CreateSession): Promise<SessionRecord> {
    if (this.#isClosed) throw shuttingDown();
    const { id = randomUUID(), owner, transient } = request;
    if (this.#sessions.has(id)) throw new ServiceError("session_exists", `there is a session ${id} already`);
    const { account, env, cgroups } = this.#options;
    const plan = await planLaunch(request, { id, account, env, cgroups });
    const runsAs = request.account === account.user ? undefined : request.account;
    const stored = {
      ...{ id, key: randomUUID(), ...plan.session, owner, account: runsAs, transient },
      ...{ created: new Date().toISOString(), pid: 0, host: this.#host },
    };
    const { session, record } = await this.#launch(stored, plan.program);
    await this.#disk.writeFirstRecord(session, record);
    this.#keep(this.#disk.syncFirstRecord(session, record));
    return session.record;
  }

  async rename(id: string, name: string): Promise<SessionRecord> {
    const session = this.#session(id);
    session.rename(name);
    await this.#disk.writeRecord(session);
    this.#emit(session, "session-changed");
    return session.record;
  }

  async remove(id: string, condition?: RemovalCondition): Promise<Removal> {
    const session = this.#session(id);
    if (session.isRunning && condition === "exited") throw stillRunning(id);
    if (session.isRunning || condition === "running") {
      if (session.isRunning) await session.end();
      return { success: true, status: "exited", exitCode: session.stored.exit?.code ?? 0 };
    }
    await this.#discard(session);
    return { success: true, status: "removed" };
  }

  async write(id: string, input: Uint8Array): Promise<void> {
    this.#session(id).write(input);
    this.meter.inputBytes += input.length;
  }

  async resize(id: string, size: TerminalSize): Promise<void> {
    this.#session(id).resize(size);
  }

  async kill(id: string, signal: SignalName): Promise<void> {
    await this.#session(id).kill(signal);
  }

  async mark(id: string, label: string): Promise<void> {
    this.#session(id).mark(label);
  }

  async view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    const session = this.#session(id);
    try {
      return await openView(session, view, this.#options.screens, signal);
    } catch (error) {
      // It may have been removed meanwhile with its files.
      if (this.#sessions.get(id) !== session) throw notFound(id);
      throw error;
    }
  }

  async saveFile(id: string, file: NewFile, signal: AbortSignal): Promise<SavedFile> {
    const session = this.#session(id);
    if (!session.isRunning) throw new ServiceError("session_not_running", `session ${id} has ended`);
    return await this.#files.save(placeOf(session.stored), file, signal);
  }

  async openFile(id: string, path: string, signal: AbortSignal): Promise<Content> {
    return await this.#files.open(placeOf(this.#session(id).stored), path, signal);
  }

  async subscribe(id: string, sink: Sink): Promise<Subscription> {
    const session = this.#session(id);
    const stack = new DisposableStack();
    const { offset } = stack.use(session.attach(sink));
    stack.use(this.#folders?.viewed(session.stored.cwd));
    return { offset, record: session.record, [Symbol.dispose]: () => stack.dispose() };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** Ends every running session: their terminals live in this process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#outputNews);
    const running = [...this.#sessions.values()].filter((session) => session.isRunning);
    await this.#retention?.[Symbol.asyncDispose]();
    const failed = ({ id }: Session, error: unknown): void =>
      this.#options.log.error({ session: id, error }, "session not ended");
    await Promise.all(
      running.map((session) => session.end().catch((error: unknown) => failed(session, error))),
    );
    await Promise.all(this.#finishing);
    await this.#folders?.[Symbol.asyncDispose]();
    await this.#care[Symbol.asyncDispose]();
  }

  /** The session is running when its start is emitted, before any other event about it. */
  async #launch(
    stored: StoredSession,
    program: PtyProgram,
  ): Promise<{ readonly session: Session; readonly record: FileHandle }> {
    const { id } = stored;
    const { controlDir, now, recordInput } = this.#options;
    const files = controlDir.session(id);
    const { journal, record } = await createFolder(id, files, this.#descriptors);
    try {
      if (this.#isClosed) throw shuttingDown();
      const own = { onEvent: this.#emit, now, recordInput, meter: this.meter };
      const session = new Session({ ...own, files, stored });
      const onEnd = (exit: PtyExit): void => this.#keep(this.#finish(session, exit));
      const spawn = (): Pty => spawnPty(program, { onOutput: session.receive, onEnd });
      session.start(this.#journal(session, journal), () => outsideTraces(spawn));
      this.meter.started += 1;
      this.#sessions.set(id, session);
      this.#enterFolder(session);
      this.#emit(session, "session-start");
      return { session, record };
    } catch (error) {
      await Promise.all([journal.close(), record.close()]);
      await rm(files.directory, { recursive: true, force: true });
      throw error instanceof ServiceError ? error : launchFailed(error, files.directory);
    }
  }

  #journal(session: Session, files: JournalFiles): Journal {
    const { id, key } = session;
    const { maxRecordingBytes: maxBytes, log } = this.#options;
    const onChange = (): void => this.#emit(session, "session-changed");
    const retry = async (): Promise<void> => {
      await session.journal?.retry();
      onChange();
    };
    return new Journal(
      {
        ...{ maxBytes, meter: this.meter },
        onPressure: (isHigh) => session.setPaused(isHigh),
        onFailure: (error) => {
          this.#care.failed(`${key} journal`, error, retry);
          onChange();
        },
        onGap: (gap) => log.warn({ session: id, ...gap }, "recording has a gap"),
      },
      files,
    );
  }

  /** Sessions whose system user is unknown get no git status. */
  #enterFolder(session: Session): void {
    const { cwd, account } = session.stored;
    if (isUserUnknown(session.stored)) return;
    const options = { isLive: session.isRunning, onChange: () => session.statusChanged() };
    session.enter(this.#folders?.enter({ cwd, account }, options));
  }

  async #finish(session: Session, exit: PtyExit): Promise<void> {
    this.meter.ended += 1;
    await session.finish(exit);
    await (session.stored.transient === true ? this.#discard(session) : this.#writeEnd(session));
  }

  /** Output emits no change by itself: a busy program writes thousands of times a second. */
  #emitGrown(): void {
    for (const session of this.#sessions.values()) {
      const isGrown = session.outputBytes > (this.#emittedBytes.get(session) ?? 0);
      if (session.isRunning && isGrown) this.#emit(session, "session-changed");
    }
  }

  /** A change of a removed session, whose disk answers late, would bring its record back for all who watch. */
  readonly #emit = (
    session: Session,
    type: ServerEvent["type"],
    members: Partial<ServerEvent> = {},
  ): void => {
    if (this.#sessions.get(session.id) !== session) return;
    const event = { ...sessionEvent(type, session.record), ...members };
    if (event.record !== undefined) this.#emittedBytes.set(session, session.outputBytes);
    this.#events.emit(event);
  };

  async #writeEnd(session: Session): Promise<void> {
    await this.#disk.writeRecord(session);
    await this.#disk.writeRecording(session);
    this.#retention?.check();
  }

  /** Returns whether the session was still there: the id may belong to a later one by now. */
  async #discard(session: Session): Promise<boolean> {
    if (this.#sessions.get(session.id) !== session) return false;
    this.#sessions.delete(session.id);
    session.enter(undefined);
    // Before the files are removed: the id is free at once.
    this.#events.emit(sessionEvent("session-removed", session.record));
    this.#options.screens.forget(session.key);
    await session.journal?.discard();
    await this.#disk.remove(session);
    return true;
  }

  /** Work in the background; its failure, as of a disk, ends neither the process nor other work. */
  #keep(work: Promise<unknown>): void {
    const failed = (error: unknown): void =>
      this.#options.log.error({ error }, "files of a session not kept");
    const finishing = work.catch(failed).finally(() => this.#finishing.delete(finishing));
    this.#finishing.add(finishing);
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id);
    if (session === undefined) throw notFound(id);
    return session;
  }
}

function notFound(id: string): ServiceError {
  return new ServiceError("session_not_found", `no session ${id}`);
}

function shuttingDown(): ServiceError {
  return new ServiceError("shutting_down", "the session host is shutting down");
}
