import type { FollowEntry } from "../git/follow/list.ts";
import type { Notice } from "../git/follow/notices.ts";
import type { HookTarget } from "../git/hooks/hook-script.ts";
import { HOST, type LogLine, type RepositoryCall, WORKER } from "../git/worker/methods.ts";
import { RetryTimer } from "../lib/async/retry-timer.ts";
import type { RpcPeer } from "../lib/async/rpc.ts";
import type { WorkerProcess } from "../lib/os/worker-process.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { FolderPresence } from "../sessions/user-folders.ts";
import { FileTransfers } from "./file-transfers.ts";
import { SessionFolders } from "./session-folders.ts";

/** A session's first output goes before the start of its worker, which takes the time of 20 sessions' starts. */
const START_DELAY_MS = 50;
/** An idle worker ends after this time without a message. */
const IDLE_MS = 60_000;
/** Pause before a needed worker that ended unexpectedly or did not start is started. It doubles up to the maximum. */
const RESTART_MS = 1_000;
const MAX_RESTART_MS = 60_000;
/** Lifetime of the known git status while no worker runs. */
const TRUST_MS = 300_000;

const LOG_WINDOW_MS = 60_000;
const MAX_LOG_LINES = 60;
/** Of the fields as JSON, and of the message. */
const MAX_LOG_LENGTH = 16_384;

/** `identity`: that of its user at the start, see `Runner`. */
type Running = { readonly process: WorkerProcess; readonly identity: string };

export type GitWorkerParts = {
  /** The system user of the worker. `undefined`: the session host's user, whose worker may notify every user. */
  readonly account: string | undefined;
  /** Starts the process. Rejects with `forbidden` for a user who may not run anything. */
  readonly start: () => Promise<Running>;
  /**
   * Rejects with `forbidden` once the user may not run programs. Resolves with the current identity of new processes:
   * groups and limits change, and a worker keeps those of its start.
   */
  readonly verify: () => Promise<string>;
  readonly target: HookTarget | undefined;
  readonly store: { get(): readonly FollowEntry[]; set(entries: readonly FollowEntry[]): Promise<void> };
  readonly onNotice: (notice: Notice) => void;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/** The git worker of one user, running or not. It is started when it is needed. */
export class GitWorker implements AsyncDisposable {
  readonly folders: SessionFolders;
  /** Files that the worker opens as its user. */
  readonly files = new FileTransfers(() => this.#peer());
  readonly #parts: GitWorkerParts;
  readonly #log: (line: LogLine) => void;
  /** The process that runs or is being started. */
  #starting: Promise<Running> | undefined;
  #running: Running | undefined;
  /** The end of the process before: there is one at a time. */
  #retired: Promise<void> = Promise.resolve();
  #startedMs = -Infinity;
  readonly #restart = new RetryTimer({
    ...{ firstMs: RESTART_MS, maxMs: MAX_RESTART_MS },
    retry: () => (this.#isNeeded ? this.resume() : this.#restart.stop()),
  });
  #idle: NodeJS.Timeout | undefined;
  #entered: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: GitWorkerParts) {
    this.#parts = parts;
    this.#log = limitedLog(parts);
    this.folders = new SessionFolders({
      now: parts.now,
      onState: (cwd, state) => {
        this.#running?.process.peer.emit(WORKER.folder, { cwd, state });
        this.#idle?.refresh();
      },
    });
  }

  get isUnused(): boolean {
    return !this.isRunning && !this.#restart.isStarted && this.folders.isEmpty && !this.#follows;
  }

  /** Whether its process runs or starts. */
  get isRunning(): boolean {
    return this.#starting !== undefined;
  }

  /** Ends an idle process that follows nothing. The known git status stays. */
  release(): boolean {
    if (this.#running === undefined || isBusy(this.#running) || this.#follows) return false;
    this.#retire(this.#running);
    return true;
  }

  /** The answer as JSON text. Rejects with the worker's errors, and `git_failed` when the process ends meanwhile. */
  async call(call: RepositoryCall, signal: AbortSignal): Promise<string> {
    return await (await this.#peer()).call(WORKER.call, call, signal);
  }

  /** Starts the process: its follow mode and its status need it. */
  resume(): void {
    // `#started` repeats a failed start.
    this.#started().catch(() => undefined);
  }

  enter(cwd: string, options: { readonly isLive: boolean; readonly onChange: () => void }): FolderPresence {
    const presence = this.folders.enter(cwd, options);
    if (this.#starting === undefined)
      this.#entered ??= setTimeout(() => this.#startEntered(), START_DELAY_MS);
    return presence;
  }

  check(folders: ReadonlySet<string>): void {
    const cwds = [...folders].filter((cwd) => this.folders.has(cwd));
    if (cwds.length > 0) this.#running?.process.peer.emit(WORKER.check, { cwds });
  }

  listed(): void {
    if (this.#running !== undefined) this.#running.process.peer.emit(WORKER.check, {});
    else if (this.#parts.now() - this.#startedMs >= TRUST_MS && this.folders.isLive) this.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#idle);
    clearTimeout(this.#entered);
    this.#restart[Symbol.dispose]();
    const worker = await this.#starting?.catch(() => undefined);
    await worker?.process.end();
  }

  #startEntered(): void {
    this.#entered = undefined;
    // Without a folder this may have been given up.
    if (!this.folders.isEmpty) this.resume();
  }

  get #follows(): boolean {
    return this.#parts.store.get().length > 0;
  }

  async #peer(): Promise<RpcPeer> {
    await this.#renew();
    const { process } = await this.#started();
    this.#idle?.refresh();
    return process.peer;
  }

  #started(): Promise<Running> {
    if (this.#isClosed)
      return Promise.reject(new ServiceError("shutting_down", "the server is shutting down"));
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      this.#notStarted(error);
      throw error;
    });
    return this.#starting;
  }

  /** Whoever asked for the start: follow mode and status need the process as well. */
  #notStarted(error: unknown): void {
    if (this.#isClosed || !this.#isNeeded) return;
    if (!this.#restart.isStarted) this.#parts.log.warn({ error }, "git worker not started");
    this.#restart.start();
  }

  async #start(): Promise<Running> {
    const { start, target, store, now } = this.#parts;
    this.#startedMs = now();
    await this.#retired;
    const worker = await start();
    const { peer, ended } = worker.process;
    void ended.then((error) => this.#ended(worker, error));
    this.#serve(worker.process);
    peer.emit(WORKER.begin, { target, entries: [...store.get()] });
    for (const [cwd, state] of this.folders.states) peer.emit(WORKER.folder, { cwd, state });
    this.#running = worker;
    this.#idle = setInterval(() => void this.#checkIdle(), IDLE_MS).unref();
    return worker;
  }

  #serve({ peer }: WorkerProcess): void {
    const { account, onNotice, store } = this.#parts;
    peer.serve(HOST.status, ({ cwd, status }) => this.folders.learned(cwd, status));
    // The process is that user's, who must not send notifications to others.
    peer.serve(HOST.notice, (notice) => onNotice({ ...notice, user: account ?? notice.user }));
    // Keeps no entries while it waits for the disk.
    peer.serve(HOST.store, (entries) => store.set(entries).then(() => undefined));
    peer.serve(HOST.log, this.#log);
    this.files.serve(peer);
  }

  /** Ends the process if it is idle and neither follows nor watches a repository. */
  async #checkIdle(): Promise<void> {
    const worker = this.#running;
    if (worker === undefined) return;
    this.#restart.stop();
    try {
      await this.#renew();
    } catch (error) {
      if (error instanceof ServiceError && error.code === "forbidden") worker.process.kill();
      return;
    }
    if (this.#running !== worker) return this.#isNeeded ? this.resume() : undefined;
    if (!isBusy(worker) && !this.#follows && !this.folders.isWatched) this.#retire(worker);
  }

  /** A process with other groups or limits than its user has by now is replaced. */
  async #renew(): Promise<void> {
    // A start looks the identity up.
    if (this.#running === undefined) return;
    const identity = await this.#parts.verify();
    const running = this.#running;
    if (running !== undefined && identity !== running.identity && !isBusy(running)) this.#retire(running);
  }

  #retire(worker: Running): void {
    this.#gone();
    this.#retired = worker.process.end();
  }

  #gone(): void {
    [this.#starting, this.#running] = [undefined, undefined];
    clearInterval(this.#idle);
  }

  get #isNeeded(): boolean {
    return this.#follows || this.folders.isLive;
  }

  #ended(worker: Running, error: ServiceError): void {
    if (this.#running !== worker) return;
    this.#gone();
    if (this.#isClosed) return;
    this.#parts.log.warn({ error }, "git worker ended");
    if (this.#isNeeded) this.#restart.start();
  }
}

/** Whether a call waits for its answer. */
function isBusy({ process }: Running): boolean {
  return process.peer.isBusy;
}

/**
 * At most MAX_LOG_LINES a minute: a user must not fill the host's disk. The worker's fields are members of one field, or they
 * could replace the line's account, level and time.
 */
function limitedLog({ log, now }: Pick<GitWorkerParts, "log" | "now">): (line: LogLine) => void {
  let sinceMs = -Infinity;
  let lines = 0;
  return ({ level, fields, message }) => {
    if (now() - sinceMs >= LOG_WINDOW_MS) [sinceMs, lines] = [now(), 0];
    lines += 1;
    if (lines <= MAX_LOG_LINES && JSON.stringify(fields).length <= MAX_LOG_LENGTH)
      log[level]({ worker: fields }, message.slice(0, MAX_LOG_LENGTH));
    else if (lines === MAX_LOG_LINES + 1) log.warn({}, "git worker logs too much: lines are left out");
  };
}
