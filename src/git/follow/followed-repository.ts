// One followed repository: sees what happens in it and brings both trees where the rules want them.
import { dirname, join } from "node:path";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { FolderWatch, type WatchedFolder } from "../folder-watch.ts";
import type { Git } from "../git.ts";
import {
  FOLLOW_GONE_CHECK_MS,
  FOLLOW_RETRY_MS,
  FOLLOW_SETTLE_MS,
  MAX_FOLLOW_ABSENCE_MS,
  MAX_FOLLOW_RETRY_MS,
  MAX_FOLLOW_ROUNDS,
} from "../git-limits.ts";
import { findRepository, type Repository } from "../repository.ts";
import { RetryTimer } from "../retry-timer.ts";
import { carryOut, checkTwice, type Outcome } from "./check.ts";
import { type Message, withTime } from "./messages.ts";
import type { Notice } from "./notices.ts";
import { type FollowSettings, readFollowSettings, writeFollowPath } from "./settings.ts";
import { UNFINISHED_MARKS } from "./unfinished-work.ts";

export type FollowedRepositoryParts = {
  /** In the main tree. */
  readonly git: Git;
  /** The user for whom it is followed; `undefined` once follow mode has ended. */
  readonly user: () => string | undefined;
  /** Runs work exclusively in the repository. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
  /** Ends follow mode and disposes of this. `undefined`: the repository is gone. */
  readonly forget: (repository: Repository | undefined) => Promise<void>;
  readonly notices: { add(notice: Notice): void };
  readonly log: Pick<Log, "info" | "warn">;
  readonly onChange: (commonDir: string) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/** The directories with the files to watch. */
type Places = {
  readonly commonDir: string;
  /** Of the main tree, and of the worktree unless it is missing. */
  readonly gitDirs: readonly string[];
  readonly branch: string | undefined;
};

/** "settled": both trees are in sync. */
type End = Outcome["end"] | "settled";

export class FollowedRepository implements Disposable {
  readonly #parts: FollowedRepositoryParts;
  readonly #watch = new FolderWatch({ onChange: () => this.hint(), settleMs: FOLLOW_SETTLE_MS });
  /** Whether this process has seen the repository. */
  #isSeen = false;
  /** The next check, until it begins. */
  #next: Promise<void> | undefined;
  /** The last obstacle, which is reported once. */
  #trouble: string | undefined;
  #isFailing = false;
  /** Since when the repository is missing. */
  #absentSinceMs: number | undefined;
  readonly #retry = new RetryTimer({
    ...{ firstMs: FOLLOW_RETRY_MS, maxMs: MAX_FOLLOW_RETRY_MS },
    retry: () => this.hint(),
  });
  #isOver = false;

  constructor(parts: FollowedRepositoryParts) {
    this.#parts = parts;
  }

  get #path(): string {
    return this.#parts.git.cwd;
  }

  /**
   * Resolves when both trees are in sync. Requests before a check begins share it: a cherry-pick of 100 commits sends
   * 100.
   */
  async check(): Promise<void> {
    this.#next ??= this.#parts.inTurn(async () => {
      this.#next = undefined;
      const user = this.#parts.user();
      if (user !== undefined && !this.#isOver) await this.#sync(user);
    });
    await this.#next;
  }

  /** The repository may have changed. A failed check is repeated. */
  hint(): void {
    this.check().catch((error: unknown) => this.#failed(error));
  }

  /** Watches git's files. Only in its turn. */
  async watch(): Promise<void> {
    const { git, onChange } = this.#parts;
    const places = await placesOf(git, await readFollowSettings(git));
    if (this.#isOver || places === undefined) return;
    onChange(places.commonDir);
    this.#isSeen = true;
    // Something may have happened before the watch began.
    if (this.#watch.set(followFolders(places, () => this.#trouble !== undefined))) this.hint();
  }

  /** Reports the outcome. The same obstacle is reported once until a check succeeds. */
  report(user: string, { messages, trouble }: Omit<Outcome, "end">, branch: string | undefined): void {
    const isOld = trouble !== undefined && this.#trouble === trouble;
    this.#trouble = trouble;
    announce(this.#parts, isOld ? messages.slice(0, -1) : messages, { repoPath: this.#path, branch, user });
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#retry[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
  }

  #failed(error: unknown): void {
    if (this.#isOver || this.#parts.user() === undefined) return;
    if (!this.#isFailing)
      this.#parts.log.warn({ repoPath: this.#path, error }, "follow mode failed: it is tried again");
    this.#isFailing = true;
    this.#retry.start();
  }

  async #sync(user: string): Promise<void> {
    const { git: main, forget } = this.#parts;
    const git = main.at(main.cwd);
    const repository = await findRepository(git);
    if (repository === undefined) return await this.#absent();
    this.#absentSinceMs = undefined;
    let end: End = "done";
    for (let round = 0; round < MAX_FOLLOW_ROUNDS && end === "done"; round += 1) {
      const settings = await readFollowSettings(git);
      // The user has removed the settings.
      if (settings === undefined) return await forget(repository);
      end = await this.#round(user, git, settings);
      if (end === "over") return await forget(repository);
    }
    await this.watch();
    this.#isFailing = false;
    // Not every obstacle leaves a trace in git's files when it goes: undone edits, locks, disks.
    if (end === "settled") this.#retry.stop();
    else this.#retry.start();
  }

  /**
   * The disk may be unmounted, or another repository is moved to the place. A repository that was seen is forgotten at
   * the second check without it, others after MAX_FOLLOW_ABSENCE_MS.
   */
  async #absent(): Promise<void> {
    const { now, forget, log } = this.#parts;
    this.#absentSinceMs ??= now();
    const patienceMs = this.#isSeen ? FOLLOW_GONE_CHECK_MS : MAX_FOLLOW_ABSENCE_MS;
    if (now() - this.#absentSinceMs < patienceMs)
      throw new ServiceError("not_a_repository", `there is no git repository at ${this.#path}`);
    await forget(undefined);
    log.warn({ repoPath: this.#path }, "follow mode ended: there is no repository any more");
  }

  async #round(user: string, git: Git, settings: FollowSettings): Promise<End> {
    const check = await checkTwice(git, { mainRoot: this.#path }, settings, { kind: "changed" });
    if (check === undefined) return "waiting";
    if (check.worktreePath !== settings.worktreePath) await writeFollowPath(git, check.worktreePath);
    const { worktree } = check.state;
    if (check.actions.length === 0) {
      this.#trouble = undefined;
      return worktree === "away" ? "waiting" : "settled";
    }
    const outcome = await carryOut(git, check);
    this.report(user, outcome, typeof worktree === "string" ? settings.branch : worktree.branch);
    return outcome.end;
  }
}

/** Logs the messages and notifies the user. */
export function announce(
  { log, notices }: Pick<FollowedRepositoryParts, "log" | "notices">,
  messages: readonly Message[],
  {
    user,
    ...where
  }: { readonly repoPath: string; readonly branch: string | undefined; readonly user: string },
): void {
  for (const message of messages) {
    log.info({ ...where, notification: message.type }, "follow mode");
    notices.add({ notification: withTime(message, where), user });
  }
}

async function placesOf(git: Git, settings: FollowSettings | undefined): Promise<Places | undefined> {
  if (settings === undefined) return undefined;
  const { worktreePath, branch } = settings;
  const [main, worktree] = await Promise.all([findRepository(git), findRepository(git.at(worktreePath))]);
  if (main === undefined) return undefined;
  const gitDirs = [main.gitDir, ...(worktree === undefined ? [] : [worktree.gitDir])];
  return { commonDir: main.commonDir, gitDirs, branch };
}

const OF_A_TREE = new Set(["HEAD", "packed-refs", "worktrees", ...UNFINISHED_MARKS]);

/**
 * Folders with changes that no hook reports: resets, rebases, removed worktrees. `caresForIndex`: whether staging
 * matters now.
 */
function followFolders(
  { commonDir, gitDirs, branch }: Places,
  caresForIndex: () => boolean,
): readonly WatchedFolder[] {
  const matters = (name: string): boolean => OF_A_TREE.has(name) || (name === "index" && caresForIndex());
  const branchFolder = branch && dirname(join(commonDir, "refs", "heads", branch));
  return [
    ...[commonDir, ...gitDirs].flatMap((path) => [
      { path, matters },
      { path: join(path, "logs"), matters: (name: string) => name === "HEAD" },
    ]),
    { path: join(commonDir, "worktrees"), matters: () => true },
    ...(branchFolder ? [{ path: branchFolder, matters: (name: string) => !name.endsWith(".lock") }] : []),
  ];
}
