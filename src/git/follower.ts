// Follow mode at work: what happens in followed repositories is seen, and both trees are brought where the rules want
// them. One repository at a time in order, different ones side by side.
import { KeyedTurns } from "../lib/keyed-turns.ts";
import type { Log } from "../log.ts";
import type { FollowHooks } from "./follow-hooks.ts";
import type { FollowEntry, FollowList } from "./follow-list.ts";
import { carryOut, lookTwice, type Outcome } from "./follow-round.ts";
import { type FollowSettings, readFollowSettings, writeFollowPath } from "./follow-settings.ts";
import { FollowWatch, type WatchedPlaces } from "./follow-watch.ts";
import { type Message, withTime } from "./follow-words.ts";
import type { Git, GitProgram } from "./git.ts";
import { FOLLOW_RETRY_MS, MAX_FOLLOW_RETRY_MS, MAX_FOLLOW_ROUNDS } from "./git-limits.ts";
import type { Notices } from "./notices.ts";
import { findRepository, type Repository } from "./repository.ts";

/** A repository, and for whom it is followed. */
export type Following = Omit<FollowEntry, "hookFolders" | "hookKey">;

type Watched = { watch: FollowWatch; places: string };

export class Follower implements AsyncDisposable {
  readonly #program: GitProgram;
  readonly #list: FollowList;
  readonly #notices: Notices;
  readonly #hooks: FollowHooks;
  readonly #log: Log;
  readonly #onChange: (commonDir: string) => void;
  /** By the main tree's path. */
  readonly #turns = new KeyedTurns();
  readonly #atWork = new Set<Promise<unknown>>();
  /** As many as are followed. */
  readonly #watched = new Map<string, Watched>();
  readonly #troubles = new Map<string, string>();
  readonly #hinted = new Set<string>();
  /** Looks that have not begun yet. */
  readonly #coming = new Map<string, Promise<void>>();
  /** How often in a row a look has failed. */
  readonly #failures = new Map<string, number>();
  #isClosed = false;

  constructor(parts: {
    readonly program: GitProgram;
    readonly list: FollowList;
    readonly notices: Notices;
    readonly hooks: FollowHooks;
    readonly log: Log;
    /** Something has changed in the repository with that common directory. */
    readonly onChange?: (commonDir: string) => void;
  }) {
    this.#program = parts.program;
    this.#list = parts.list;
    this.#notices = parts.notices;
    this.#hooks = parts.hooks;
    this.#log = parts.log;
    this.#onChange = parts.onChange ?? (() => {});
  }

  /** Goes on where a server before this one followed. */
  async resume(): Promise<void> {
    for (const { repoPath } of await this.#list.read()) this.hint(repoPath);
  }

  /**
   * Something may have happened in that repository. Resolves when both trees are where they belong. One look is taken
   * for all that have said so before it began: a cherry-pick of a hundred commits says so a hundred times.
   */
  async changed(repoPath: string): Promise<void> {
    const coming = this.#coming.get(repoPath) ?? this.#look(repoPath);
    this.#coming.set(repoPath, coming);
    await coming;
  }

  /**
   * The same without waiting for it. A look that fails, as on a machine that has too much to do, is taken again after
   * FOLLOW_RETRY_MS, and after twice as long each time.
   */
  hint(repoPath: string): void {
    if (this.#hinted.has(repoPath)) return;
    this.#hinted.add(repoPath);
    this.changed(repoPath).then(
      () => this.#failures.delete(repoPath),
      (error: unknown) => this.#failed(repoPath, error),
    );
  }

  /** Nothing else is done in that repository meanwhile. */
  async inTurn<T>(repoPath: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.take(repoPath, work);
    this.#atWork.add(turn);
    try {
      return await turn;
    } finally {
      this.#atWork.delete(turn);
    }
  }

  /** From now on what happens in it is seen. Only in its turn. */
  async watch({ repoPath, account }: Following): Promise<void> {
    const git = this.#program.at(repoPath, { account });
    const places = await placesOf(git, await readFollowSettings(git));
    const key = JSON.stringify(places);
    const old = this.#watched.get(repoPath);
    if (this.#isClosed || places === undefined) return;
    this.#onChange(places.commonDir);
    if (old?.places === key) return;
    const watch = new FollowWatch(places, {
      onChange: () => this.hint(repoPath),
      caresForIndex: () => this.#troubles.has(repoPath),
    });
    old?.watch[Symbol.dispose]();
    this.#watched.set(repoPath, { watch, places: key });
    // What happened before the watch began.
    this.hint(repoPath);
  }

  /** It is not followed any more. Only in its turn. `asker`: who turned it off, where this server does not know of it. */
  async forget(
    { repoPath, ...asker }: Pick<Following, "repoPath" | "account">,
    repository: Pick<Repository, "commonDir"> | undefined,
  ): Promise<void> {
    this.#watched.get(repoPath)?.watch[Symbol.dispose]();
    this.#watched.delete(repoPath);
    this.#troubles.delete(repoPath);
    this.#failures.delete(repoPath);
    const { account } = this.#list.get(repoPath) ?? asker;
    const place = { mainRoot: repoPath, commonDir: repository?.commonDir };
    await this.#hooks.remove(this.#program.at(repoPath, { account }), place);
    if (repository !== undefined) this.#onChange(repository.commonDir);
    await this.#list.delete(repoPath);
  }

  tell({ repoPath, user }: Following, { messages, trouble }: Outcome, branch: string | undefined): void {
    // The same trouble is told once, until something has gone well again.
    const isOld = trouble !== undefined && this.#troubles.get(repoPath) === trouble;
    if (trouble === undefined) this.#troubles.delete(repoPath);
    else this.#troubles.set(repoPath, trouble);
    for (const message of isOld ? messages.slice(0, -1) : messages) {
      this.#log.info({ repoPath, branch, notification: message.type }, "follow mode");
      this.#notices.add({ notification: withTime(message, { repoPath, branch }), user });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { watch } of this.#watched.values()) watch[Symbol.dispose]();
    this.#watched.clear();
    await Promise.allSettled(this.#atWork);
  }

  async #look(repoPath: string): Promise<void> {
    await this.inTurn(repoPath, async () => {
      this.#coming.delete(repoPath);
      this.#hinted.delete(repoPath);
      const entry = this.#list.get(repoPath);
      if (entry !== undefined && !this.#isClosed) await this.#sync(entry);
    });
  }

  #failed(repoPath: string, error: unknown): void {
    this.#hinted.delete(repoPath);
    const failures = this.#failures.get(repoPath) ?? 0;
    if (this.#isClosed || this.#list.get(repoPath) === undefined) return;
    if (failures === 0) this.#log.warn({ repoPath, error }, "follow mode failed: it is tried again");
    this.#failures.set(repoPath, failures + 1);
    const delay = Math.min(FOLLOW_RETRY_MS * 2 ** failures, MAX_FOLLOW_RETRY_MS);
    setTimeout(() => this.hint(repoPath), delay).unref();
  }

  async #sync(entry: Following): Promise<void> {
    const { repoPath, account } = entry;
    const git = this.#program.at(repoPath, { account });
    const repository = await findRepository(git);
    if (repository === undefined) return await this.forget(entry, undefined);
    for (let round = 0; round < MAX_FOLLOW_ROUNDS; round += 1) {
      const settings = await readFollowSettings(git);
      // Somebody has taken it out of the config by hand.
      if (settings === undefined) return await this.forget(entry, repository);
      const end = await this.#round(entry, git, settings);
      if (end === "over") return await this.forget(entry, repository);
      if (end !== "done") break;
    }
    await this.watch(entry);
  }

  async #round(entry: Following, git: Git, settings: FollowSettings): Promise<Outcome["end"] | "rest"> {
    const look = await lookTwice(git, { mainRoot: entry.repoPath }, settings, { kind: "changed" });
    if (look === undefined) return "waiting";
    if (look.worktreePath !== settings.worktreePath) await writeFollowPath(git, look.worktreePath);
    if (look.actions.length === 0) {
      this.#troubles.delete(entry.repoPath);
      return "rest";
    }
    const outcome = await carryOut(git, look);
    const { worktree } = look.state;
    this.tell(entry, outcome, typeof worktree === "string" ? settings.branch : worktree.branch);
    return outcome.end;
  }
}

export function outcomeOf(...messages: readonly Message[]): Outcome {
  return { end: "done", messages, trouble: undefined };
}

async function placesOf(git: Git, settings: FollowSettings | undefined): Promise<WatchedPlaces | undefined> {
  if (settings === undefined) return undefined;
  const { worktreePath, branch } = settings;
  const [main, worktree] = await Promise.all([findRepository(git), findRepository(git.at(worktreePath))]);
  if (main === undefined) return undefined;
  const gitDirs = [main.gitDir, ...(worktree === undefined ? [] : [worktree.gitDir])];
  return { commonDir: main.commonDir, gitDirs, branch };
}
