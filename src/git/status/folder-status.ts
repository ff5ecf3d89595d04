import { isDeepStrictEqual } from "node:util";
import type { Semaphore } from "../../lib/async/semaphore.ts";
import type { Log } from "../../log.ts";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import type { Git } from "../git.ts";
import { MAX_STATUS_RETRY_MS, STATUS_LAST_EVENT_MS, STATUS_RETRY_MS } from "../git-limits.ts";
import { findRepository, type Repository, repositoryMark } from "../repository.ts";
import { RetryTimer } from "../retry-timer.ts";
import type { TreeStatus } from "./tree-status.ts";

export type FolderStatusOptions = {
  readonly cwd: string;
  /** A git in the folder that has read no config yet. */
  readonly git: () => Git;
  readonly slots: Pick<Semaphore, "take">;
  readonly log: Pick<Log, "warn">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** The working tree of that repository, which the folder is in from now on. */
  readonly join: (repository: Repository | undefined) => TreeStatus | undefined;
  /** No program runs in the folder any more. */
  readonly onRest: () => void;
};

/** A session in the folder. `endedAtMs`: `undefined` while its program runs. */
type SessionThere = { endedAtMs: number | undefined; readonly onChange: () => void };

/** These say how it is; after any other error git is asked again. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["not_a_repository", "forbidden", "git_unavailable"]);

/** A folder that sessions were started in, and the git status of the working tree that it is in. */
export class FolderStatus implements Disposable {
  readonly cwd: string;
  readonly #options: FolderStatusOptions;
  readonly #sessions = new Set<SessionThere>();
  /** How many of their programs run: there may be thousands of sessions. */
  #live = 0;
  #facts: GitStatus | undefined;
  #found: { readonly mark: string; readonly repository: Repository } | undefined;
  /** The status is to be as new as that, and is. */
  #wantedMs = -Infinity;
  #doneMs = -Infinity;
  #isReading = false;
  #isOver = false;
  /** After a failure nobody else may ask: clients that live on events wait for one. */
  readonly #retry = new RetryTimer({
    ...{ firstMs: STATUS_RETRY_MS, maxMs: MAX_STATUS_RETRY_MS },
    retry: () => this.refresh(this.#options.now()),
  });

  constructor(options: FolderStatusOptions) {
    this.cwd = options.cwd;
    this.#options = options;
  }

  get facts(): GitStatus | undefined {
    return this.#facts;
  }

  /** Whether a program runs that was started here. */
  get isLive(): boolean {
    return this.#live > 0;
  }

  get isEmpty(): boolean {
    return this.#sessions.size === 0;
  }

  enter({ isLive, onChange }: { readonly isLive: boolean; readonly onChange: () => void }): SessionThere {
    const session = { endedAtMs: isLive ? undefined : -Infinity, onChange };
    this.#sessions.add(session);
    if (isLive) this.#live++;
    // While nobody lived here nothing was watched.
    this.refresh(isLive && this.#live === 1 ? this.#options.now() : 0);
    return session;
  }

  end(session: SessionThere): void {
    if (session.endedAtMs !== undefined || !this.#sessions.has(session)) return;
    session.endedAtMs = this.#options.now();
    this.#live--;
    if (!this.isLive) this.#options.onRest();
    this.refresh(this.#options.now());
  }

  leave(session: SessionThere): void {
    this.end(session);
    this.#sessions.delete(session);
  }

  /** The status is to be one that git began to read at `notBeforeMs` or later. */
  refresh(notBeforeMs: number): void {
    this.#wantedMs = Math.max(this.#wantedMs, notBeforeMs);
    if (!this.#isReading) void this.#read();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#sessions.clear();
    this.#retry[Symbol.dispose]();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#doneMs < this.#wantedMs && !this.#isOver) {
      const wantedMs = this.#wantedMs;
      await this.#readOnce(wantedMs);
      this.#doneMs = wantedMs;
    }
    this.#isReading = false;
  }

  async #readOnce(notBeforeMs: number): Promise<void> {
    const { cwd, log, join } = this.#options;
    const known = this.#facts;
    try {
      const repository = await this.#locate();
      if (this.#isOver) return;
      const facts = await join(repository)?.read(notBeforeMs);
      // Where a repository has gone meanwhile, git has read the one around it.
      if (this.#found !== undefined && (await repositoryMark(cwd)) !== this.#found.mark)
        return this.refresh(this.#options.now());
      this.#tell(facts);
      // Another repository may be on its way to the place of one that has gone.
      if (known !== undefined && this.#facts === undefined) this.#retry.start();
      else this.#retry.stop();
    } catch (error) {
      this.#found = undefined;
      if (this.#isOver) return;
      if (error instanceof ServiceError && FINAL.has(error.code)) {
        this.#tell(undefined);
        if (known === undefined) return;
      } else if (!this.#retry.isStarted) log.warn({ cwd, error }, "git status not read");
      this.#retry.start();
    }
  }

  /** git is asked where the repository is only once its place has changed. */
  async #locate(): Promise<Repository | undefined> {
    const { cwd, git, slots } = this.#options;
    const mark = await repositoryMark(cwd);
    if (mark === undefined || mark !== this.#found?.mark) this.#found = undefined;
    if (mark === undefined) return undefined;
    const repository = this.#found?.repository ?? (await slots.take(() => findRepository(git())));
    if (repository !== undefined) this.#found = { mark, repository };
    return repository;
  }

  /** Sessions that ended long ago emit no events; clients see the change on the next list. */
  #tell(facts: GitStatus | undefined): void {
    if (isDeepStrictEqual(facts, this.#facts)) return;
    this.#facts = facts;
    const oldestMs = this.#options.now() - STATUS_LAST_EVENT_MS;
    for (const { endedAtMs, onChange } of [...this.#sessions])
      if (endedAtMs === undefined || endedAtMs > oldestMs) onChange();
  }
}
