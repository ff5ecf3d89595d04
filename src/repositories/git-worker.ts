import type { FollowEntry } from "../git/follow/list.ts";
import type { HookPlace } from "../git/hooks/hook-script.ts";
import type { ToWorker } from "../git/worker/messages.ts";
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
/** How long the end of a worker is waited for. */
const STOP_WAIT_MS = 3_000;

type Report<Type extends WorkerReport["type"]> = Extract<WorkerReport, { type: Type }>;

/** A running process and its identity, as `verify` has it. */
type Running = { readonly worker: WorkerProcess; readonly identity: string };

export type GitWorkerParts = {
  /** The system user whose worker it is; `undefined`: the session host's own, who may speak for every name. */
  readonly account: string | undefined;
  /** Starts the process. Rejects with `forbidden` for a user who may not run anything. */
  readonly start: (onReport: (report: WorkerReport) => void) => Promise<Running>;
  /**
   * Rejects with `forbidden` once the user may not run programs. Resolves with the current identity of new processes:
   * groups and limits change, and a worker keeps those of its start.
   */
  readonly verify: () => Promise<string>;
  readonly target: () => Promise<HookPlace>;
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
  #running: Running | undefined;
  /** The end of the process before: there is one at a time. */
  #retired: Promise<unknown> = Promise.resolve();
  #startedMs = -Infinity;
  #restartMs = RESTART_MS;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: GitWorkerParts) {
    this.#parts = parts;
    this.#log = limitedLog(parts);
    this.folders = new SessionFolders({
      now: parts.now,
      onState: (cwd, state) => {
        if (this.#running !== undefined) this.#send(this.#running.worker, { type: "folder", cwd, state });
      },
    });
  }

  get isUnused(): boolean {
    return this.#process === undefined && this.folders.isEmpty && !this.#follows;
  }

  /** Whether its process runs or starts. */
  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Ends its process where nobody waits for it and it follows nothing. The known git status stays. */
  release(): boolean {
    if (this.#running === undefined || this.#running.worker.isBusy || this.#follows) return false;
    this.#retire(this.#running.worker);
    return true;
  }

  /** See `WorkerProcess.call`. */
  async call(call: RepositoryCall, signal: AbortSignal): Promise<string> {
    await this.#renew();
    const worker = await this.#started();
    this.#waitForIdle();
    return await worker.call(call, signal);
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
  enter(cwd: string, options: { readonly isLive: boolean; readonly onChange: () => void }): FolderPresence {
    const presence = this.folders.enter(cwd, options);
    if (this.#running === undefined) this.#wake();
    return presence;
  }

  /** These folders may have changed. */
  check(folders: ReadonlySet<string>): void {
    const cwds = [...folders].filter((cwd) => this.folders.has(cwd));
    if (cwds.length > 0) this.#running?.worker.send({ type: "check", cwds });
  }

  /** A client lists the sessions. */
  listed(): void {
    if (this.#running !== undefined) this.#running.worker.send({ type: "check" });
    else if (this.#parts.now() - this.#startedMs >= TRUST_MS && this.folders.isLive) this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const worker = await this.#process?.catch(() => undefined);
    worker?.end();
    if (worker !== undefined) await endOf(worker);
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
    const place = await target();
    const running = await start((report) => this.#receive(running.worker, report));
    const { worker } = running;
    void worker.ended.then((error) => this.#ended(worker, error));
    worker.send({ type: "begin", target: place, entries: [...store.get()] });
    for (const [cwd, state] of this.folders.states) worker.send({ type: "folder", cwd, state });
    this.#running = running;
    this.#waitForIdle();
    return worker;
  }

  #send(worker: WorkerProcess, message: ToWorker): void {
    worker.send(message);
    this.#waitForIdle();
  }

  #receive(worker: WorkerProcess, report: WorkerReport): void {
    switch (report.type) {
      case "status":
        this.folders.learned(report.cwd, report.status);
        break;
      case "notice":
        // The process is that user's, who must not speak in another name.
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

  #waitForIdle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#checkIdle(), IDLE_MS).unref();
  }

  /** It ends where nobody waits for it, and it neither follows nor watches a repository. */
  async #checkIdle(): Promise<void> {
    const worker = this.#running?.worker;
    if (worker === undefined) return;
    this.#restartMs = RESTART_MS;
    this.#waitForIdle();
    try {
      await this.#renew();
    } catch (error) {
      if (error instanceof ServiceError && error.code === "forbidden") worker.kill();
      return;
    }
    if (this.#running?.worker !== worker) return this.#isNeeded ? this.resume() : undefined;
    if (!worker.isBusy && !this.#follows && !this.folders.isWatched) this.#retire(worker);
  }

  /** A process with other groups or limits than its user has by now is replaced. */
  async #renew(): Promise<void> {
    // A start looks the identity up.
    if (this.#running === undefined) return;
    const identity = await this.#parts.verify();
    const running = this.#running;
    if (running !== undefined && identity !== running.identity && !running.worker.isBusy)
      this.#retire(running.worker);
  }

  #retire(worker: WorkerProcess): void {
    this.#gone();
    worker.end();
    this.#retired = endOf(worker);
  }

  #gone(): void {
    [this.#process, this.#running] = [undefined, undefined];
    clearTimeout(this.#timer);
  }

  get #isNeeded(): boolean {
    return this.#follows || this.folders.isLive;
  }

  #ended(worker: WorkerProcess, error: ServiceError): void {
    if (this.#running?.worker !== worker) return;
    this.#gone();
    if (this.#isClosed) return;
    this.#parts.log.warn({ error }, "git worker ended");
    if (!this.#isNeeded) return;
    this.#timer = setTimeout(() => this.resume(), this.#restartMs).unref();
    this.#restartMs = Math.min(2 * this.#restartMs, MAX_RESTART_MS);
  }
}

/** A worker completes what it has begun, also when nobody waits any more. */
async function endOf(worker: WorkerProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, STOP_WAIT_MS);
  await Promise.race([worker.ended, promise]);
  clearTimeout(timer);
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
