// The terminals of this process.
import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { Emitter } from "../lib/emitter.ts";
import { writeJsonFile } from "../lib/json-file.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/event.ts";
import type { CreateSession, Removal, SessionRecord, SignalName, TerminalSize } from "../protocol/session.ts";
import type { Content, SessionBackend, Sink, Subscription, View } from "./backend.ts";
import type { ControlDir } from "./control-dir.ts";
import { Journal } from "./journal.ts";
import { type Account, type LaunchPlan, planLaunch } from "./launch.ts";
import { endProcesses, startTicks } from "./process-tree.ts";
import { spawnPty } from "./pty.ts";
import { writeRecording } from "./recording.ts";
import { recoverSessions } from "./recovery.ts";
import type { Screens } from "./screen.ts";
import { Session, type SessionChange } from "./session.ts";
import { openView } from "./views.ts";

export type SessionLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};

export type LocalSessionsOptions = {
  readonly controlDir: ControlDir;
  readonly screens: Screens;
  readonly log: SessionLog;
  /** What programs start from; the server's secrets are taken out of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  readonly maxRecordingBytes: number;
  readonly recordInput: boolean;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

export class LocalSessions implements SessionBackend {
  readonly #options: LocalSessionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Ids of sessions that are being started, so that two with the same id cannot be. */
  readonly #starting = new Set<string>();
  readonly #events = new Emitter<ServerEvent>();
  /** Recordings are written one after the other: many programs may end at once. */
  #recordings: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LocalSessionsOptions) {
    this.#options = options;
  }

  /** Takes over what an earlier host left in the control directory. Nobody else may be using it. */
  async recover(): Promise<void> {
    const { controlDir, log, now } = this.#options;
    const unreadable = (id: string, error: unknown): void =>
      log.warn({ session: id, error }, "session not readable");
    for (const { stored, files, sizes, wasLost } of await recoverSessions(controlDir, unreadable)) {
      const onChange = (): void => {};
      const session = new Session({ stored, files, sizes, onChange, now, recordInput: false });
      this.#sessions.set(session.id, session);
      if (!wasLost) continue;
      log.warn({ session: session.id }, "session lost its host");
      void endProcesses(stored.pid, stored.startTicks, { graceMs: 3_000 });
      await this.#store(session);
      this.#writeRecording(session);
    }
  }

  async list(): Promise<readonly SessionRecord[]> {
    const records = [...this.#sessions.values()].map((session) => session.record);
    return records.sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : 0));
  }

  async get(id: string): Promise<SessionRecord> {
    return this.#session(id).record;
  }

  async create(request: CreateSession): Promise<SessionRecord> {
    if (this.#isClosed) throw new ServiceError("shutting_down", "the session host is shutting down");
    const id = request.id ?? randomUUID();
    if (this.#sessions.has(id) || this.#starting.has(id)) {
      throw new ServiceError("session_exists", `there is a session ${id} already`);
    }
    this.#starting.add(id);
    try {
      const { account, env } = this.#options;
      const session = await this.#launch(id, await planLaunch(request, { id, account, env }));
      this.#sessions.set(id, session);
      this.#emit("session-start", session);
      return session.record;
    } finally {
      this.#starting.delete(id);
    }
  }

  async rename(id: string, name: string): Promise<SessionRecord> {
    const session = this.#session(id);
    session.rename(name);
    await this.#store(session);
    this.#emit("session-changed", session);
    return session.record;
  }

  async remove(id: string): Promise<Removal> {
    const session = this.#session(id);
    if (session.isRunning) {
      await session.end();
      return { success: true, status: "exited", exitCode: session.stored.exit?.code ?? 0 };
    }
    this.#sessions.delete(id);
    this.#options.screens.forget(id);
    await this.#recordings;
    await rm(session.files.directory, { recursive: true, force: true });
    this.#emit("session-removed", session);
    return { success: true, status: "removed" };
  }

  async write(id: string, input: Uint8Array): Promise<void> {
    this.#session(id).write(input);
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
    return openView(this.#session(id), view, this.#options.screens, signal);
  }

  async subscribe(id: string, sink: Sink): Promise<Subscription> {
    const session = this.#session(id);
    session.flush();
    const offset = session.outputBytes;
    const attached = session.attach(sink);
    return { offset, record: session.record, [Symbol.dispose]: () => attached[Symbol.dispose]() };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** Ends every running session: their terminals live in this process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#sessions.values()].filter((session) => session.isRunning);
    await Promise.all(running.map((session) => session.end()));
    await this.#recordings;
  }

  async #launch(id: string, plan: LaunchPlan): Promise<Session> {
    const { controlDir, log, maxRecordingBytes, now, recordInput } = this.#options;
    const files = controlDir.session(id);
    await makeDirectory(id, files.directory);
    try {
      const session = newSession(id, plan, {
        files,
        now,
        recordInput,
        onChange: (s, c) => this.#changed(s, c),
      });
      const journal = await Journal.create({
        files,
        maxBytes: maxRecordingBytes,
        onPressure: (isHigh) => (isHigh ? pty?.pause() : pty?.resume()),
        onFailure: (error) => log.error({ session: id, error }, "recording stopped"),
      });
      let pty: ReturnType<typeof spawnPty> | undefined;
      session.start(journal, () => {
        pty = spawnPty(plan, {
          onOutput: (chunk) => session.receive(chunk),
          onEnd: (exit) => void this.#finish(session, exit),
        });
        return pty;
      });
      session.noteStart(startTicks(session.stored.pid));
      await this.#store(session);
      return session;
    } catch (error) {
      await rm(files.directory, { recursive: true, force: true });
      throw new ServiceError(
        "launch_failed",
        `the program could not be started in a terminal: ${reason(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  async #finish(session: Session, exit: { exitCode: number; signal?: string }): Promise<void> {
    try {
      await session.finish(exit);
      await this.#store(session);
      this.#writeRecording(session);
    } catch (error) {
      this.#options.log.error({ session: session.id, error }, "session not stored");
    }
  }

  #changed(session: Session, change: SessionChange): void {
    if (change === "exited") this.#emit("session-exit", session);
    else this.#emit(change === "bell" ? "bell" : "session-changed", session);
  }

  #emit(type: ServerEvent["type"], session: Session): void {
    const { id, name, exit } = session.stored;
    const event = { type, timestamp: new Date().toISOString(), sessionId: id, sessionName: name };
    this.#events.emit(exit === undefined ? event : { ...event, exitCode: exit.code });
  }

  #writeRecording(session: Session): void {
    const write = async (): Promise<void> => {
      if (this.#sessions.get(session.id) !== session) return;
      await writeRecording(session.stored, session.files);
    };
    this.#recordings = this.#recordings.then(write).catch((error: unknown) => {
      this.#options.log.error({ session: session.id, error }, "recording not written");
    });
  }

  async #store(session: Session): Promise<void> {
    await writeJsonFile(session.files.record, session.stored, 0o600);
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new ServiceError("session_not_found", `no session ${id}`);
    return session;
  }
}

function newSession(
  id: string,
  plan: LaunchPlan,
  options: Omit<ConstructorParameters<typeof Session>[0], "stored" | "sizes">,
): Session {
  const { name, command, cwd, size, env } = plan;
  const stored = {
    id,
    name,
    command: [...command],
    cwd,
    created: new Date().toISOString(),
    pid: 0,
    ...size,
    shell: env.SHELL ?? "/bin/sh",
  };
  return new Session({ ...options, stored, sizes: [{ offset: 0, ...size }] });
}

async function makeDirectory(id: string, path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new ServiceError("session_exists", `there are files of a session ${id} already`);
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
