import type { FollowEntry } from "../git/follow/list.ts";
import type { HookTarget } from "../git/hooks/hook-script.ts";
import { RetryTimer } from "../git/retry-timer.ts";
import type { FolderState, ToWorker } from "../git/worker/messages.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type FolderPresence, SessionFolders } from "./session-folders.ts";
import type { RepositoryCall, WorkerProcess, WorkerReport } from "./worker-process.ts";

/** So long after its last message an idle worker is ended. */
const IDLE_MS = 60_000;
/** Before a worker that ended by itself, and is needed, is started again: doubled each time up to the second. */
const RESTART_MS = 1_000;
const MAX_RESTART_MS = 60_000;
/** Without a worker the known git status is trusted so long. */
const TRUST_MS = 300_000;

const LOG_WINDOW_MS = 60_000;
const MAX_LOG_LINES = 60;
/** Of the fields as JSON, and of the message. */
const MAX_LOG_LENGTH = 16_384;
type Report<Type extends WorkerReport["type"]> = Extract<WorkerReport, { type: Type }>;

export type GitWorkerParts = {
  /** The system user of the worker. `undefined`: the session host's user, whose worker may notify every user. */
  readonly account: string | undefined;
  /** Starts the process. Rejects with `forbidden` for a user who may not run anything. */
  readonly start: (onReport: (report: WorkerReport) => void) => Promise<WorkerProcess>;
  /**
   * Rejects with `forbidden` once the user may not run programs. Resolves with the current identity of new processes:
   * groups and limits change, and a worker keeps those of its start.
   */
  readonly verify: () => Promise<string>;
  readonly target: HookTarget | undefined;
  readonly store: { get(): readonly FollowEntry[]; set(entries: readonly FollowEntry[]): Promise<void> };
  readonly onNotice: (notice: Report<"notice">) => void;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/** The git worker of one user, running or not. It is started when it is needed. */
export class GitWorker implements AsyncDisposable {
  readonly folders: SessionFolders;
  readonly #parts: GitWorkerParts;
  readonly #log: (report: Report<"log">) => void;
  /** The process that runs or is being started. */
  #process: Promise<WorkerProcess> | undefined;
  #running: WorkerProcess | undefined;
  /** The end of the process before: there is one at a time. */
  #retired: Promise<void> = Promise.resolve();
  #startedMs = -Infinity;
  readonly #restart = new RetryTimer({
    ...{ firstMs: RESTART_MS, maxMs: MAX_RESTART_MS },
    retry: () => this.resume(),
  });
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: GitWorkerParts) {
    this.#parts = parts;
    this.#log = limitedLog(parts);
    const onState = (cwd: string, state: FolderState): void => this.#tell({ type: "folder", cwd, state });
    this.folders = new SessionFolders({ now: parts.now, onState });
  }

  get isUnused(): boolean {
    return this.#process === undefined && this.folders.isEmpty && !this.#follows;
  }

  /** Whether its process runs or starts. */
  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Ends an idle process that follows nothing. The known git status stays. */
  release(): boolean {
    if (this.#running === undefined || this.#running.isBusy || this.#follows) return false;
    this.#retire(this.#running);
    return true;
  }

  /** See `WorkerProcess.call`. */
  async call(call: RepositoryCall, signal: AbortSignal): Promise<string> {
    await this.#renew();
    const worker = await this.#started();
    this.#idle?.refresh();
    return await worker.call(call, signal);
  }

  /** Starts what it follows. */
  resume(): void {
    void this.#started().catch((error: unknown) => this.#parts.log.warn({ error }, "git worker not started"));
  }

  /** A session is in that folder. */
  enter(cwd: string, options: { readonly isLive: boolean; readonly onChange: () => void }): FolderPresence {
    const presence = this.folders.enter(cwd, options);
    if (this.#running === undefined) this.#wake();
    return presence;
  }

  /** These folders may have changed. */
  check(folders: ReadonlySet<string>): void {
    const cwds = [...folders].filter((cwd) => this.folders.has(cwd));
    if (cwds.length > 0) this.#running?.send({ type: "check", cwds });
  }

  /** A client lists the sessions. */
  listed(): void {
    if (this.#running !== undefined) this.#running.send({ type: "check" });
    else if (this.#parts.now() - this.#startedMs >= TRUST_MS && this.folders.isLive) this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#idle);
    this.#restart[Symbol.dispose]();
    const worker = await this.#process?.catch(() => undefined);
    await worker?.end();
  }

  get #follows(): boolean {
    return this.#parts.store.get().length > 0;
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
    this.#startedMs = now();
    await this.#retired;
    const worker: WorkerProcess = await start((report) => this.#receive(worker, report));
    void worker.ended.then((error) => this.#ended(worker, error));
    worker.send({ type: "begin", target, entries: [...store.get()] });
    for (const [cwd, state] of this.folders.states) worker.send({ type: "folder", cwd, state });
    this.#running = worker;
    this.#idle = setInterval(() => void this.#checkIdle(), IDLE_MS).unref();
    return worker;
  }

  #tell(message: ToWorker): void {
    this.#running?.send(message);
    this.#idle?.refresh();
  }

  #receive(worker: WorkerProcess, report: WorkerReport): void {
    switch (report.type) {
      case "status":
        this.folders.learned(report.cwd, report.status);
        break;
      case "notice":
        // The process is that user's, who must not send notifications to others.
        this.#parts.onNotice({ ...report, user: this.#parts.account ?? report.user });
        break;
      case "store":
        void this.#store(worker, report);
        break;
      case "log":
        this.#log(report);
        break;
    }
  }

  async #store(worker: WorkerProcess, { number, entries }: Report<"store">): Promise<void> {
    const error = await this.#parts.store.set(entries).then(
      () => undefined,
      (cause: unknown) => String(cause),
    );
    worker.send({ type: "stored", number, ...(error === undefined ? {} : { error }) });
  }

  /** Ends the process if it is idle and neither follows nor watches a repository. */
  async #checkIdle(): Promise<void> {
    const worker = this.#running;
    if (worker === undefined) return;
    this.#restart.stop();
    try {
      await this.#renew();
    } catch (error) {
      if (error instanceof ServiceError && error.code === "forbidden") worker.kill();
      return;
    }
    if (this.#running !== worker) return this.#isNeeded ? this.resume() : undefined;
    if (!worker.isBusy && !this.#follows && !this.folders.isWatched) this.#retire(worker);
  }

  /** A process with other groups or limits than its user has by now is replaced. */
  async #renew(): Promise<void> {
    // A start looks the identity up.
    if (this.#running === undefined) return;
    const identity = await this.#parts.verify();
    const running = this.#running;
    if (running !== undefined && identity !== running.identity && !running.isBusy) this.#retire(running);
  }

  #retire(worker: WorkerProcess): void {
    this.#gone();
    this.#retired = worker.end();
  }

  #gone(): void {
    [this.#process, this.#running] = [undefined, undefined];
    clearInterval(this.#idle);
  }

  get #isNeeded(): boolean {
    return this.#follows || this.folders.isLive;
  }

  #ended(worker: WorkerProcess, error: ServiceError): void {
    if (this.#running !== worker) return;
    this.#gone();
    if (this.#isClosed) return;
    this.#parts.log.warn({ error }, "git worker ended");
    if (this.#isNeeded) this.#restart.start();
  }
}

/** At most MAX_LOG_LINES a minute: a user must not fill the host's disk. */
function limitedLog({ log, now }: Pick<GitWorkerParts, "log" | "now">): (report: Report<"log">) => void {
  let sinceMs = -Infinity;
  let lines = 0;
  return ({ level, fields, message }) => {
    if (now() - sinceMs >= LOG_WINDOW_MS) [sinceMs, lines] = [now(), 0];
    lines += 1;
    if (lines <= MAX_LOG_LINES && JSON.stringify(fields).length <= MAX_LOG_LENGTH)
      log[level](fields, message.slice(0, MAX_LOG_LENGTH));
    else if (lines === MAX_LOG_LINES + 1) log.warn({}, "git worker logs too much: lines are left out");
  };
}
