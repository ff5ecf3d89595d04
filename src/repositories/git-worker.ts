import type { FollowEntry } from "../git/follow/list.ts";
import type { HookPlace } from "../git/hooks/hook-script.ts";
import type { FromWorker } from "../git/worker/messages.ts";
import type { Log } from "../log.ts";
import { errorFromBody, ServiceError } from "../protocol/errors.ts";
import type { GitStatus } from "../protocol/schemas/session.ts";
import type { RepositoryInput } from "./repositories.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** After its last message a worker is asked whether it is idle, and ended if so. */
const IDLE_MS = 60_000;
/** Before a worker that ended by itself, and has something to watch, is started again: doubled each time up to the second. */
const RESTART_MS = 1_000;
const MAX_RESTART_MS = 60_000;
/** What is known of folders is trusted so long without a worker. */
const TRUST_MS = 300_000;

const LOG_WINDOW_MS = 60_000;
const MAX_LOG_LINES = 60;
/** Of the fields as JSON, and of the message. */
const MAX_LOG_LENGTH = 16_384;
/** How long the end of a worker is waited for. */
const STOP_WAIT_MS = 3_000;

type From<Type extends FromWorker["type"]> = Extract<FromWorker, { type: Type }>;
type Pending = {
  readonly worker: WorkerProcess;
  readonly resolve: (body: string) => void;
  readonly reject: (error: Error) => void;
};
/** A session in a folder. */
type Presence = {
  readonly cwd: string;
  isLive: boolean;
  facts: GitStatus | undefined;
  readonly onChange: () => void;
};

export type RepositoryCall = {
  readonly name: string;
  readonly input: RepositoryInput;
  /** Under which name follow mode notes whose repository it is. */
  readonly user: string;
};

export type GitWorkerParts = {
  /** The system user whose worker it is; `undefined`: the session host's own, who may speak for every name. */
  readonly account: string | undefined;
  /**
   * Starts the process, and says with which identity, as `verify` has it; rejects with `forbidden` for a user who may
   * not run anything.
   */
  readonly start: (
    onMessage: (message: FromWorker) => void,
  ) => Promise<{ readonly worker: WorkerProcess; readonly identity: string }>;
  /**
   * Rejects with `forbidden` once that user may not run anything any more. Resolves with the identity that a process of
   * that user would get now: groups and limits change, and a worker keeps those of its start.
   */
  readonly verify: () => Promise<string>;
  readonly target: () => Promise<HookPlace>;
  readonly store: { get(): readonly FollowEntry[]; set(entries: readonly FollowEntry[]): Promise<void> };
  readonly onNotice: (notice: From<"notice"> | From<"announce">) => void;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/** The git worker of one user, be it running or not. It is started when there is something for it. */
export class GitWorker implements AsyncDisposable {
  readonly #parts: GitWorkerParts;
  readonly #calls = new Map<number, Pending>();
  readonly #presences = new Map<number, Presence>();
  /** The same by folder. */
  readonly #folders = new Map<string, Set<Presence>>();
  /** The process that runs or is being started. */
  #process: Promise<WorkerProcess> | undefined;
  #running: WorkerProcess | undefined;
  /** Of the process that runs. */
  #identity: string | undefined;
  /** The end of the process before: there is one at a time. */
  #retired: Promise<unknown> = Promise.resolve();
  #lastNumber = 0;
  #sent = 0;
  #sentBeforeIdle = -1;
  #listedMs = -Infinity;
  #restartMs = RESTART_MS;
  #logSinceMs = -Infinity;
  #logged = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: GitWorkerParts) {
    this.#parts = parts;
  }

  /** Whether nothing needs it. */
  get isUnused(): boolean {
    return this.#process === undefined && this.#presences.size === 0 && this.#parts.store.get().length === 0;
  }

  /** Whether its process runs or starts. */
  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Ends its process where nobody waits for it and it follows nothing. What is known of folders stays known. */
  release(): boolean {
    if (this.#running === undefined || this.#calls.size > 0 || this.#parts.store.get().length > 0)
      return false;
    this.#retire(this.#running);
    return true;
  }

  /** JSON text. Rejects with the worker's errors, or `git_failed` when it ends meanwhile. */
  async call({ name, input, user }: RepositoryCall, signal: AbortSignal): Promise<string> {
    await this.#renew();
    const worker = await this.#started();
    signal.throwIfAborted();
    const number = ++this.#lastNumber;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#calls.set(number, { worker, resolve, reject });
    const cancel = (): void => {
      this.#running?.send({ type: "cancel", number });
      reject(signal.reason);
    };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      this.#send(worker, { type: "call", number, name, input, user });
      return await promise;
    } finally {
      this.#calls.delete(number);
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Starts what it follows. */
  resume(): void {
    void this.#started().catch((error: unknown) => this.#parts.log.warn({ error }, "git worker not started"));
  }

  hint(repoPath: string): void {
    void this.#started().then(
      (worker) => this.#send(worker, { type: "hint", repoPath }),
      () => undefined,
    );
  }

  /** A session is in that folder. */
  enter(cwd: string, isLive: boolean, onChange: () => void): PresenceOfSession {
    const id = ++this.#lastNumber;
    const folder = this.#folders.get(cwd) ?? new Set();
    this.#folders.set(cwd, folder);
    // Another session may be there already.
    const [other] = folder;
    const presence: Presence = { cwd, isLive, facts: other?.facts, onChange };
    folder.add(presence);
    this.#presences.set(id, presence);
    if (this.#running === undefined) this.#wake();
    else this.#send(this.#running, { type: "enter", id, cwd, isLive });
    return {
      get facts() {
        return presence.facts;
      },
      ended: () => {
        if (!presence.isLive) return;
        presence.isLive = false;
        if (this.#running !== undefined) this.#send(this.#running, { type: "ended", id });
      },
      [Symbol.dispose]: () => {
        if (!this.#presences.delete(id)) return;
        folder.delete(presence);
        if (folder.size === 0) this.#folders.delete(cwd);
        if (this.#running !== undefined) this.#send(this.#running, { type: "leave", id });
      },
    };
  }

  /** Something may have happened in these folders. */
  check(folders: ReadonlySet<string>): void {
    const cwds = [...folders].filter((cwd) => this.#folders.has(cwd));
    if (cwds.length > 0) this.#running?.send({ type: "check", cwds });
  }

  /** Somebody lists the sessions. */
  listed(): void {
    this.#running?.send({ type: "listed" });
    if (this.#running !== undefined) return;
    const isOld = this.#parts.now() - this.#listedMs >= TRUST_MS;
    if (isOld && [...this.#presences.values()].some(({ isLive }) => isLive)) this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const worker = await this.#process?.catch(() => undefined);
    worker?.end();
    if (worker !== undefined) await endOf(worker);
  }

  #wake(): void {
    void this.#started().catch(() => undefined);
  }

  #started(): Promise<WorkerProcess> {
    if (this.#isClosed)
      return Promise.reject(new ServiceError("shutting_down", "the server is shutting down"));
    this.#process ??= this.#start().catch((error: unknown) => {
      this.#process = undefined;
      throw error;
    });
    return this.#process;
  }

  async #start(): Promise<WorkerProcess> {
    const { start, target, store, now } = this.#parts;
    this.#listedMs = now();
    await this.#retired;
    const place = await target();
    const { worker, identity } = await start((message) => this.#receive(worker, message));
    this.#identity = identity;
    void worker.ended.then((error) => this.#ended(worker, error));
    worker.send({ type: "begin", target: place, entries: [...store.get()] });
    for (const [id, { cwd, isLive }] of this.#presences) worker.send({ type: "enter", id, cwd, isLive });
    this.#running = worker;
    this.#waitForIdle();
    return worker;
  }

  #send(worker: WorkerProcess, message: Parameters<WorkerProcess["send"]>[0]): void {
    worker.send(message);
    this.#sent += 1;
    this.#waitForIdle();
  }

  #receive(worker: WorkerProcess, message: FromWorker): void {
    switch (message.type) {
      case "answer":
        this.#calls.get(message.number)?.resolve(message.body);
        break;
      case "failure": {
        const { number, error } = message;
        this.#calls.get(number)?.reject(errorFromBody(error, "git_failed", "the git worker failed"));
        break;
      }
      case "facts":
        this.#learned(message);
        break;
      case "notice":
      case "announce":
        // The process is that user's, who must not speak in another name.
        this.#parts.onNotice({ ...message, user: this.#parts.account ?? message.user });
        break;
      case "store":
        void this.#store(worker, message);
        break;
      case "idle":
        this.#idle(worker, message.isIdle);
        break;
      case "log":
        this.#log(message);
        break;
    }
  }

  /** At most MAX_LOG_LINES a minute: a user must not fill the host's disk. */
  #log({ level, fields, message }: From<"log">): void {
    const { log, now } = this.#parts;
    if (now() - this.#logSinceMs >= LOG_WINDOW_MS) [this.#logSinceMs, this.#logged] = [now(), 0];
    this.#logged += 1;
    if (this.#logged <= MAX_LOG_LINES && JSON.stringify(fields).length <= MAX_LOG_LENGTH)
      log[level](fields, message.slice(0, MAX_LOG_LENGTH));
    else if (this.#logged === MAX_LOG_LINES + 1) log.warn({}, "git worker logs too much: lines are left out");
  }

  #learned({ id, facts }: From<"facts">): void {
    const presence = this.#presences.get(id);
    if (presence === undefined) return;
    presence.facts = facts;
    presence.onChange();
  }

  async #store(worker: WorkerProcess, { number, entries }: From<"store">): Promise<void> {
    const error = await this.#parts.store.set(entries).then(
      () => undefined,
      (cause: unknown) => String(cause),
    );
    worker.send({ type: "stored", number, ...(error === undefined ? {} : { error }) });
  }

  #waitForIdle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#askIdle(), IDLE_MS).unref();
  }

  async #askIdle(): Promise<void> {
    const worker = this.#running;
    if (worker === undefined) return;
    this.#waitForIdle();
    try {
      await this.#renew();
    } catch (error) {
      if (error instanceof ServiceError && error.code === "forbidden") worker.kill();
      return;
    }
    if (this.#running !== worker) return this.#isNeeded ? this.resume() : undefined;
    if (this.#calls.size > 0) return;
    this.#sentBeforeIdle = this.#sent;
    worker.send({ type: "is-idle" });
  }

  /** Nothing was sent since it was asked: nothing can be lost. */
  #idle(worker: WorkerProcess, isIdle: boolean): void {
    this.#restartMs = RESTART_MS;
    if (!isIdle || this.#sent !== this.#sentBeforeIdle || this.#calls.size > 0) return;
    this.#retire(worker);
  }

  /** A process with other groups or limits than its user has by now makes room for another one. */
  async #renew(): Promise<void> {
    // One that is to be started finds out by that.
    if (this.#running === undefined) return;
    const identity = await this.#parts.verify();
    if (this.#running !== undefined && identity !== this.#identity && this.#calls.size === 0)
      this.#retire(this.#running);
  }

  #retire(worker: WorkerProcess): void {
    [this.#process, this.#running] = [undefined, undefined];
    clearTimeout(this.#timer);
    worker.end();
    this.#retired = endOf(worker);
  }

  get #isNeeded(): boolean {
    return this.#parts.store.get().length > 0 || [...this.#presences.values()].some(({ isLive }) => isLive);
  }

  #ended(worker: WorkerProcess, error: ServiceError): void {
    for (const call of this.#calls.values()) if (call.worker === worker) call.reject(error);
    if (this.#running !== worker) return;
    [this.#process, this.#running] = [undefined, undefined];
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#parts.log.warn({ error }, "git worker ended");
    if (!this.#isNeeded) return;
    this.#timer = setTimeout(() => this.resume(), this.#restartMs).unref();
    this.#restartMs = Math.min(2 * this.#restartMs, MAX_RESTART_MS);
  }
}

/** It finishes what it has begun, also when nobody waits any more. */
async function endOf(worker: WorkerProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, STOP_WAIT_MS);
  await Promise.race([worker.ended, promise]);
  clearTimeout(timer);
}

export type PresenceOfSession = Disposable & {
  /** What is known at this moment; waits for nobody. */
  readonly facts: GitStatus | undefined;
  /** Its program has ended. */
  ended(): void;
};
