// One repository in follow mode: it is turned on and off, watched, and checked here, each in its turn.
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { coalesced, Mutex } from "../../lib/async/mutex.ts";
import { RetryTimer } from "../../lib/async/retry-timer.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { FollowReply } from "../../protocol/schemas/follow.ts";
import { FolderWatch, type WatchedFolder } from "../folder-watch.ts";
import type { Git, GitProgram } from "../git.ts";
import {
  FOLLOW_GONE_CHECK_MS,
  FOLLOW_RETRY_MS,
  FOLLOW_SETTLE_MS,
  MAX_FOLLOW_ABSENCE_MS,
  MAX_FOLLOW_RETRY_MS,
  MAX_FOLLOW_ROUNDS,
} from "../git-limits.ts";
import type { FollowHooks, HooksPlan } from "../hooks/follow-hooks.ts";
import { EVENT_FILE } from "../hooks/hook-script.ts";
import { findRepository, type Repository, requireRepository } from "../repository.ts";
import {
  type Check,
  carryOut,
  checkDisable,
  checkEnable,
  checkTwice,
  foresee,
  forgetStale,
  type Outcome,
} from "./check.ts";
import type { FollowList } from "./list.ts";
import { enabledMessage, textsOf } from "./messages.ts";
import type { Notice } from "./notices.ts";
import {
  clearFollowSettings,
  type FollowSettings,
  readFollowSettings,
  writeFollowPath,
  writeFollowSettings,
} from "./settings.ts";
import { UNFINISHED_MARKS } from "./unfinished-work.ts";

export type FollowedRepositoryParts = {
  readonly program: GitProgram;
  readonly list: FollowList;
  readonly hooks: FollowHooks;
  readonly notices: { add(notice: Notice): void };
  readonly log: Pick<Log, "info" | "warn">;
  /** A repository with this common directory has changed. */
  readonly onChange: (commonDir: string) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

export type FollowRequest = {
  readonly repoPath: string;
  /** Of the worktree to follow. */
  readonly branch?: string | undefined;
  readonly user: string;
  /** Changes nothing; the reply has the steps. */
  readonly dryRun?: boolean;
};

/** Since follow mode began in this process. */
type Seen = {
  /** The last obstacle, which is reported once. */
  trouble?: string | undefined;
  isFailing?: boolean;
  /** Whether both trees were in sync. */
  isSettled?: boolean;
  /** Whether the repository was there, and since when it is missing. */
  isThere?: boolean;
  absentSinceMs?: number | undefined;
};

/** "settled": both trees are in sync. */
type End = Outcome["end"] | "settled";

export class FollowedRepository implements AsyncDisposable {
  /** Of the main tree. */
  readonly #path: string;
  readonly #parts: FollowedRepositoryParts;
  readonly #mutex = new Mutex();
  /** Resolves when both trees are in sync. Calls share a check: a cherry-pick of 100 commits sends 100 requests. */
  readonly check = coalesced(async () => {
    const user = this.#user;
    if (user !== undefined) await this.#sync(user).catch((error: unknown) => this.#failed(error));
  }, this.#mutex);
  readonly #watch = new FolderWatch({ onChange: () => this.hint(), settleMs: FOLLOW_SETTLE_MS });
  readonly #retry = new RetryTimer({
    ...{ firstMs: FOLLOW_RETRY_MS, maxMs: MAX_FOLLOW_RETRY_MS },
    retry: () => this.hint(),
  });
  #seen: Seen = {};
  #isOver = false;

  constructor(path: string, parts: FollowedRepositoryParts) {
    this.#path = path;
    this.#parts = parts;
  }

  async enable(
    git: Git,
    repository: Repository,
    { branch, user, dryRun }: FollowRequest,
  ): Promise<FollowReply> {
    return await this.#mutex.take(async () => {
      const check = await checkEnable(git, repository, branch);
      const hooks = await this.#parts.hooks.plan(git, repository, check.worktreePath);
      const { worktreePath } = check;
      const reply = { ...ENABLED, repoPath: this.#path, worktreePath, branch: check.branch };
      if (dryRun) {
        const obstacle = await foresee(git, check);
        const steps = [
          ...hooks.steps,
          ...sentences({ ...check, actions: check.actions.filter(({ kind }) => kind !== "stuck") }),
          ...(obstacle === undefined ? [] : [obstacle.message]),
        ];
        return { ...reply, ...DRY_RUN, synced: obstacle === undefined, steps };
      }
      await this.#prepare(git, repository, { check, hooks, user });
      // Checks once this turn is over, however it ends.
      this.hint();
      const outcome = await carryOut(git, check);
      const messages = [enabledMessage(worktreePath, this.#path), ...outcome.messages];
      this.#report(user, { ...outcome, messages }, check.branch);
      await this.#watchFiles();
      return {
        ...{ ...reply, hooksInstalled: hooks.folders.length > 0, synced: outcome.end === "done" },
        steps: [...hooks.steps, ...outcome.messages.map(({ message }) => message)],
      };
    });
  }

  async disable(git: Git, repository: Repository, { user, dryRun }: FollowRequest): Promise<FollowReply> {
    return await this.#mutex.take(async () => {
      const check = await checkDisable(git, repository);
      const steps = check === undefined ? ["nothing was followed there"] : sentences(check);
      const reply = { ...DISABLED, hooksInstalled: false, repoPath: this.#path, steps };
      if (dryRun) return { ...reply, ...DRY_RUN };
      if (check !== undefined) this.#report(user, await carryOut(git, check), check.state.branch);
      await this.#forget(repository);
      return reply;
    });
  }

  /** The repository may have changed. */
  hint(): void {
    // A failed check is repeated.
    this.check().catch(() => undefined);
  }

  /** Whoever asked for the check: nothing else may tell of this change. */
  #failed(error: unknown): never {
    if (this.#user !== undefined) {
      if (!this.#seen.isFailing)
        this.#parts.log.warn({ repoPath: this.#path, error }, "follow mode failed: it is tried again");
      this.#seen.isFailing = true;
      this.#retry.start();
    }
    throw error;
  }

  /** Completes work that has begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#retry[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
    await this.#mutex.take(async () => undefined);
  }

  /** The user for whom it is followed; `undefined` while follow mode is off. */
  get #user(): string | undefined {
    return this.#isOver ? undefined : this.#parts.list.get(this.#path)?.user;
  }

  /** Stores entry and settings and installs the hooks. A failure reverts all of it. */
  async #prepare(
    git: Git,
    repository: Repository,
    { check, hooks, user }: { readonly check: Check; readonly hooks: HooksPlan; readonly user: string },
  ): Promise<void> {
    const { list } = this.#parts;
    const entry = { repoPath: this.#path, user };
    list.requireRoom(entry);
    const before = list.get(this.#path);
    const main = git.at(this.#path);
    const settings = await readFollowSettings(main);
    try {
      await this.#install(user, hooks, repository.commonDir);
      const { worktreePath, state } = check;
      await writeFollowSettings(main, { worktreePath, branch: state.main.branch });
    } catch (error) {
      const restored =
        settings === undefined ? clearFollowSettings(main) : writeFollowSettings(main, settings);
      await restored.catch(() => undefined);
      // The entry of another user stays.
      await (before === undefined ? this.#forget(repository) : list.set(before)).catch(() => undefined);
      throw error;
    }
  }

  /** In place of the hooks of an earlier worktree, or of an earlier path: their folders may be in the tree. */
  async #install(user: string, plan: HooksPlan, commonDir: string): Promise<void> {
    const { list, hooks } = this.#parts;
    const former = list.get(this.#path)?.hookFolders;
    const hookFolders = plan.folders.map(({ path }) => path);
    await list.set({ repoPath: this.#path, user, hookFolders });
    await hooks.install(plan, commonDir, former);
  }

  /** The path in the settings is changed last: until then the next check tries again. */
  async #moved(user: string, git: Git, worktreePath: string): Promise<void> {
    const repository = await requireRepository(git);
    const plan = await this.#parts.hooks.plan(git, repository, worktreePath);
    await this.#install(user, plan, repository.commonDir);
    await writeFollowPath(git, worktreePath);
  }

  /** Ends follow mode. `undefined`: the repository is gone. */
  async #forget(repository: Repository | undefined): Promise<void> {
    this.#watch.set([]);
    this.#retry.stop();
    this.#seen = {};
    await this.#parts.hooks.remove(this.#path, repository?.commonDir);
    if (repository !== undefined) this.#parts.onChange(repository.commonDir);
  }

  async #sync(user: string): Promise<void> {
    const git = this.#parts.program.at(this.#path);
    const repository = await findRepository(git);
    // At an empty mount point git finds the repository around it.
    if (repository === undefined || repository.mainRoot !== (await realpath(this.#path)))
      return await this.#absent();
    this.#seen.absentSinceMs = undefined;
    let end: End = "done";
    for (let round = 0; round < MAX_FOLLOW_ROUNDS && end === "done"; round += 1) {
      const settings = await readFollowSettings(git);
      // Without settings: the user has removed them.
      end = settings === undefined ? "over" : await this.#round(user, git, settings);
    }
    if (end === "over") return await this.#forget(repository);
    await this.#watchFiles();
    this.#seen.isFailing = false;
    // Not every obstacle leaves a trace in git's files when it goes: undone edits, locks, disks.
    if (end === "settled") this.#retry.stop();
    else this.#retry.start();
  }

  /**
   * The disk may be unmounted, or another repository is moved to the place. A repository that was seen is forgotten at
   * the second check without it, others after MAX_FOLLOW_ABSENCE_MS.
   */
  async #absent(): Promise<void> {
    const { now, log } = this.#parts;
    this.#seen.absentSinceMs ??= now();
    const patienceMs = this.#seen.isThere ? FOLLOW_GONE_CHECK_MS : MAX_FOLLOW_ABSENCE_MS;
    if (now() - this.#seen.absentSinceMs < patienceMs)
      throw new ServiceError("not_a_repository", `there is no git repository at ${this.#path}`);
    await this.#forget(undefined);
    log.warn({ repoPath: this.#path }, "follow mode ended: there is no repository any more");
  }

  async #round(user: string, git: Git, settings: FollowSettings): Promise<End> {
    const check = await checkTwice(git, settings);
    if (check === undefined) return "waiting";
    if (check.worktreePath !== settings.worktreePath) await this.#moved(user, git, check.worktreePath);
    const { worktree } = check.state;
    if (check.actions.length === 0) {
      if (!this.#seen.isSettled) await forgetStale(git, check.state);
      this.#seen.isSettled = true;
      this.#seen.trouble = undefined;
      return worktree === "away" ? "waiting" : "settled";
    }
    const outcome = await carryOut(git, check);
    this.#report(user, outcome, typeof worktree === "string" ? settings.branch : worktree.branch);
    return outcome.end;
  }

  /** Logs the messages and notifies the user. The same obstacle is reported once until a check succeeds. */
  #report(user: string, { messages, trouble }: Outcome, branch: string | undefined): void {
    const isOld = trouble !== undefined && this.#seen.trouble === trouble;
    this.#seen.trouble = trouble;
    const where = { repoPath: this.#path, branch };
    for (const message of isOld ? messages.slice(0, -1) : messages) {
      this.#parts.log.info({ ...where, notification: message.type }, "follow mode");
      const notification = { ...message, ...where, timestamp: new Date().toISOString() };
      this.#parts.notices.add({ notification, user });
    }
  }

  async #watchFiles(): Promise<void> {
    const git = this.#parts.program.at(this.#path);
    const [settings, main] = await Promise.all([readFollowSettings(git), findRepository(git)]);
    if (settings === undefined || main === undefined) return;
    const worktree = await findRepository(git.at(settings.worktreePath));
    this.#parts.onChange(main.commonDir);
    this.#seen.isThere = true;
    const caresForIndex = (): boolean => this.#seen.trouble !== undefined;
    const folders = followFolders(main.commonDir, worktree?.gitDir, settings.branch, caresForIndex);
    // Something may have happened before the watch began.
    if (this.#watch.set(folders)) this.hint();
  }
}

function sentences({ state, actions }: Pick<Check, "state" | "actions">): string[] {
  return actions.map((action) => textsOf(action, state).sentence);
}

const ENABLED = { success: true, enabled: true, message: "Follow mode enabled" } as const;
const DISABLED = { success: true, enabled: false, message: "Follow mode disabled", synced: false } as const;
const DRY_RUN = { message: "nothing was changed", hooksInstalled: false } as const;

const OF_A_TREE = new Set(["HEAD", "packed-refs", "worktrees", EVENT_FILE, ...UNFINISHED_MARKS]);

/**
 * Folders with changes that no hook reports: resets, rebases, removed worktrees. `caresForIndex`: whether staging
 * matters now.
 */
function followFolders(
  commonDir: string,
  gitDir: string | undefined,
  branch: string | undefined,
  caresForIndex: () => boolean,
): readonly WatchedFolder[] {
  const matters = (name: string): boolean => OF_A_TREE.has(name) || (name === "index" && caresForIndex());
  const branchFolder = branch && dirname(join(commonDir, "refs", "heads", branch));
  return [
    ...[commonDir, ...(gitDir === undefined ? [] : [gitDir])].flatMap((path) => [
      { path, matters },
      { path: join(path, "logs"), matters: (name: string) => name === "HEAD" },
    ]),
    { path: join(commonDir, "worktrees"), matters: () => true },
    ...(branchFolder ? [{ path: branchFolder, matters: (name: string) => !name.endsWith(".lock") }] : []),
  ];
}
