// Follow mode at work: what happens in followed repositories is seen, and both trees are brought where the rules want
// them. One repository at a time in order, different ones side by side.
import { KeyedMutex } from "../../lib/async/keyed-mutex.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { FolderWatch } from "../folder-watch.ts";
import type { Git, GitProgram } from "../git.ts";
import {
  FOLLOW_GONE_LOOK_MS,
  FOLLOW_SETTLE_MS,
  MAX_FOLLOW_ABSENCE_MS,
  MAX_FOLLOW_ROUNDS,
} from "../git-limits.ts";
import type { FollowHooks } from "../hooks/follow-hooks.ts";
import { findRepository, type Repository } from "../repository.ts";
import { LaterLooks } from "./later-looks.ts";
import type { FollowEntry, FollowList } from "./list.ts";
import type { Notices } from "./notices.ts";
import { carryOut, lookTwice, type Outcome } from "./round.ts";
import { type FollowSettings, readFollowSettings, writeFollowPath } from "./settings.ts";
import { type FollowPlaces, followFolders } from "./watcher.ts";
import { type Message, withTime } from "./words.ts";

/** A repository, and for whom it is followed. */
export type Following = Omit<FollowEntry, "hookFolders" | "hookKey">;

/** `places`: what was asked for; empty once that is not there any more. */
type Watched = { watch: FolderWatch; places: string };

export class Follower implements AsyncDisposable {
  readonly #program: GitProgram;
  readonly #list: FollowList;
  readonly #notices: Pick<Notices, "add">;
  readonly #hooks: FollowHooks;
  readonly #log: Pick<Log, "info" | "warn">;
  readonly #onChange: (commonDir: string) => void;
  readonly #now: () => number;
  /** By the main tree's path. */
  readonly #turns = new KeyedMutex();
  readonly #atWork = new Set<Promise<unknown>>();
  /** As many as are followed. */
  readonly #watched = new Map<string, Watched>();
  readonly #troubles = new Map<string, string>();
  readonly #hinted = new Set<string>();
  /** Looks that have not begun yet. */
  readonly #coming = new Map<string, Promise<void>>();
  /** Where the last look has failed. */
  readonly #failing = new Set<string>();
  /** Where there is no repository, and since when. */
  readonly #absentSinceMs = new Map<string, number>();
  readonly #later = new LaterLooks((repoPath) => this.hint(repoPath));
  #isClosed = false;

  constructor(parts: {
    readonly program: GitProgram;
    readonly list: FollowList;
    readonly notices: Pick<Notices, "add">;
    readonly hooks: FollowHooks;
    readonly log: Pick<Log, "info" | "warn">;
    /** Something has changed in the repository with that common directory. */
    readonly onChange?: (commonDir: string) => void;
    /** In milliseconds; any zero point, never going back. */
    readonly now: () => number;
  }) {
    this.#program = parts.program;
    this.#list = parts.list;
    this.#notices = parts.notices;
    this.#hooks = parts.hooks;
    this.#log = parts.log;
    this.#onChange = parts.onChange ?? (() => {});
    this.#now = parts.now;
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
   * The same without waiting for it. A look that fails, as on a machine that has too much to do, is taken again: see
   * LaterLooks.
   */
  hint(repoPath: string): void {
    if (this.#hinted.has(repoPath)) return;
    this.#hinted.add(repoPath);
    this.changed(repoPath).then(
      () => this.#failing.delete(repoPath),
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
  async watch({ repoPath }: Following): Promise<void> {
    const git = this.#program.at(repoPath);
    const places = await placesOf(git, await readFollowSettings(git));
    const key = JSON.stringify(places);
    const old = this.#watched.get(repoPath);
    if (this.#isClosed || places === undefined) return;
    this.#onChange(places.commonDir);
    if (old?.places === key && old.watch.isCurrent) return;
    const folders = followFolders(places, () => this.#troubles.has(repoPath));
    const onChange = (): void => this.hint(repoPath);
    const watch = new FolderWatch(folders, { onChange, settleMs: FOLLOW_SETTLE_MS });
    old?.watch[Symbol.dispose]();
    this.#watched.set(repoPath, { watch, places: key });
    // What happened before the watch began.
    this.hint(repoPath);
  }

  /** It is not followed any more. Only in its turn. */
  async forget(repoPath: string, repository: Pick<Repository, "commonDir"> | undefined): Promise<void> {
    this.#watched.get(repoPath)?.watch[Symbol.dispose]();
    this.#watched.delete(repoPath);
    this.#troubles.delete(repoPath);
    this.#failing.delete(repoPath);
    this.#absentSinceMs.delete(repoPath);
    this.#later.delete(repoPath);
    const place = { mainRoot: repoPath, commonDir: repository?.commonDir };
    await this.#hooks.remove(place);
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
    this.#later[Symbol.dispose]();
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
    if (this.#isClosed || this.#list.get(repoPath) === undefined) return;
    if (!this.#failing.has(repoPath))
      this.#log.warn({ repoPath, error }, "follow mode failed: it is tried again");
    this.#failing.add(repoPath);
    this.#later.add(repoPath);
  }

  async #sync(entry: Following): Promise<void> {
    const { repoPath } = entry;
    const git = this.#program.at(repoPath);
    const repository = await findRepository(git);
    if (repository === undefined) return await this.#absent(entry);
    this.#absentSinceMs.delete(repoPath);
    let end: Outcome["end"] | "rest" = "done";
    for (let round = 0; round < MAX_FOLLOW_ROUNDS && end === "done"; round += 1) {
      const settings = await readFollowSettings(git);
      // Somebody has taken it out of the config by hand.
      if (settings === undefined) return await this.forget(repoPath, repository);
      end = await this.#round(entry, git, settings);
      if (end === "over") return await this.forget(repoPath, repository);
    }
    await this.watch(entry);
    // Of what is in the way not all shows in git's files when it goes: an edit that is undone, a lock, a disk.
    this.#failing.delete(repoPath);
    if (end === "rest") this.#later.delete(repoPath);
    else this.#later.add(repoPath);
  }

  /**
   * Its disk may not be there yet, or another repository is put in its place at this moment. One that was seen is
   * forgotten when it is not there the second time, any other after MAX_FOLLOW_ABSENCE_MS.
   */
  async #absent(entry: Following): Promise<void> {
    const { repoPath } = entry;
    const watched = this.#watched.get(repoPath);
    if (watched !== undefined) watched.places = "";
    const sinceMs = this.#absentSinceMs.get(repoPath) ?? this.#now();
    this.#absentSinceMs.set(repoPath, sinceMs);
    const patienceMs = watched === undefined ? MAX_FOLLOW_ABSENCE_MS : FOLLOW_GONE_LOOK_MS;
    if (this.#now() - sinceMs < patienceMs)
      throw new ServiceError("not_a_repository", `there is no git repository at ${repoPath}`);
    await this.forget(repoPath, undefined);
    this.#log.warn({ repoPath }, "follow mode ended: there is no repository any more");
  }

  async #round(entry: Following, git: Git, settings: FollowSettings): Promise<Outcome["end"] | "rest"> {
    const look = await lookTwice(git, { mainRoot: entry.repoPath }, settings, { kind: "changed" });
    if (look === undefined) return "waiting";
    if (look.worktreePath !== settings.worktreePath) await writeFollowPath(git, look.worktreePath);
    if (look.actions.length === 0) {
      this.#troubles.delete(entry.repoPath);
      return look.state.worktree === "away" ? "waiting" : "rest";
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

async function placesOf(git: Git, settings: FollowSettings | undefined): Promise<FollowPlaces | undefined> {
  if (settings === undefined) return undefined;
  const { worktreePath, branch } = settings;
  const [main, worktree] = await Promise.all([findRepository(git), findRepository(git.at(worktreePath))]);
  if (main === undefined) return undefined;
  const gitDirs = [main.gitDir, ...(worktree === undefined ? [] : [worktree.gitDir])];
  return { commonDir: main.commonDir, gitDirs, branch };
}
