// The repositories of this machine's users. A git worker of each user does the work, with that user's rights.
// Notifications, and the sessions that they concern, are kept here.
import { type Notice, Notices } from "../git/follow/notices.ts";
import { GIT_CACHE_MS } from "../git/git-limits.ts";
import { RepositoryEvent } from "../git/worker/methods.ts";
import { Emitter } from "../lib/async/emitter.ts";
import { ExpiringMap, keepAnswer } from "../lib/data/expiring-map.ts";
import { programFile } from "../lib/os/installation.ts";
import { isOwnVariable } from "../lib/os/own-variables.ts";
import { WorkerProcess } from "../lib/os/worker-process.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import { GitEvent, NotificationQuery } from "../protocol/schemas/follow.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { Account, BaseEnv } from "../sessions/run-as/launch-env.ts";
import { userRunner } from "../sessions/run-as/run-as.ts";
import { OWN_IDENTITY, ownRunner, type Runner } from "../sessions/run-as/runner.ts";
import type { UserCgroups } from "../sessions/run-as/user-cgroups.ts";
import type { FolderPresence, StatusSource, UserFiles } from "../sessions/user-folders.ts";
import { FollowFile } from "./follow-file.ts";
import { GitWorker, type GitWorkerParts } from "./git-worker.ts";
import type {
  Repositories,
  RepositoryCaller,
  RepositoryEndpointName,
  RepositoryInput,
} from "./repositories.ts";

/** Concurrent git workers. For one more the least recently used idle worker ends, or the request is refused. */
const MAX_WORKERS = 64;
/** New viewers of that time share a check, which begins when they have their first output. */
const VIEW_CHECK_MS = 50;
/** How long an account check stays valid. One that failed is not kept. */
const VERIFIED_MS = 60_000;

export type LocalRepositoriesParts = {
  /** The session host's own user, and the environment of its process. */
  readonly account: Account;
  readonly env: BaseEnv;
  readonly isRoot: boolean;
  readonly cgroups: UserCgroups | undefined;
  /** How hooks start this program. */
  readonly node: string;
  readonly main: string;
  readonly controlDir: { readonly path: string; readonly follow: string };
  /** `list` would count as a client that looks at the sessions. */
  readonly sessions: Pick<SessionBackend, "all">;
  readonly log: Log;
};

export class LocalRepositories implements Repositories, StatusSource {
  readonly #parts: LocalRepositoriesParts;
  readonly #file: FollowFile;
  readonly #notices = new Notices({ now });
  readonly #events = new Emitter<ServerEvent>();
  /** By system user, least recently used first; `undefined`: the host's own. */
  readonly #workers = new Map<string | undefined, GitWorker>();
  readonly #verified = new ExpiringMap<string, Promise<string>>({
    ...{ lifetimeMs: VERIFIED_MS, maxEntries: MAX_WORKERS, now },
  });

  /** One for each viewer of a session. */
  readonly #views = new Set<{ readonly cwd: string }>();
  /** Folders of new viewers that wait for their check. */
  readonly #viewed = new Set<string>();
  #viewCheck: NodeJS.Timeout | undefined;
  readonly #checks = setInterval(() => this.#checkActive(), GIT_CACHE_MS).unref();
  #activeSince = new Date().toISOString();

  private constructor(parts: LocalRepositoriesParts, file: FollowFile) {
    this.#parts = parts;
    this.#file = file;
  }

  /** Resumes the follow mode of an earlier session host. */
  static async open(parts: LocalRepositoriesParts): Promise<LocalRepositories> {
    const { controlDir, log } = parts;
    const onDamaged = (error: unknown): void => log.error({ error }, "follow mode not resumed");
    const file = await FollowFile.open(controlDir.follow, onDamaged);
    const repositories = new LocalRepositories(parts, file);
    for (const account of file.accounts) repositories.#worker(account).resume();
    return repositories;
  }

  async call(
    name: RepositoryEndpointName,
    input: RepositoryInput,
    caller: RepositoryCaller,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    if (name === "listNotifications") {
      const { client = "" } = NotificationQuery.parse(input.query ?? {});
      const sees = ({ user }: Notice): boolean => caller.seesAll || user === caller.user;
      return json({ notifications: this.#notices.take({ user: caller.user, client }, sees) });
    }
    const worker = this.#worker(caller.account);
    const body = await worker.call({ name, input, user: caller.user }, signal);
    if (name === "gitEvent")
      return json(this.#eventReply(input, RepositoryEvent.parse(JSON.parse(body)), caller));
    return new TextEncoder().encode(body);
  }

  readonly files: UserFiles = {
    save: ({ account, ...place }, file, signal) => this.#worker(account).files.save(place, file, signal),
    open: ({ account, ...place }, path, signal) => this.#worker(account).files.open(place, path, signal),
  };

  enter(
    { cwd, account }: { readonly cwd: string; readonly account: string | undefined },
    options: { readonly isLive: boolean; readonly onChange: () => void },
  ): FolderPresence {
    return this.#worker(account).enter(cwd, options);
  }

  /** A session in that folder has a viewer: its status is checked. */
  viewed(cwd: string): Disposable {
    const view = { cwd };
    this.#views.add(view);
    this.#viewed.add(cwd);
    this.#viewCheck ??= setTimeout(() => {
      this.#viewCheck = undefined;
      this.#check(this.#viewed);
      this.#viewed.clear();
    }, VIEW_CHECK_MS).unref();
    return { [Symbol.dispose]: () => void this.#views.delete(view) };
  }

  asked(): void {
    for (const worker of this.#workers.values()) worker.listed();
  }

  /** Notifications of follow mode, with the sessions in that repository. */
  on(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#checks);
    clearTimeout(this.#viewCheck);
    await Promise.all([...this.#workers.values()].map((worker) => worker[Symbol.asyncDispose]()));
  }

  /** Checks sessions with output since the last time or with viewers; for others no git runs. */
  #checkActive(): void {
    const since = this.#activeSince;
    this.#activeSince = new Date().toISOString();
    if (this.#workers.size === 0) return;
    const sessions = this.#parts.sessions.all();
    const active = sessions.filter(({ lastModified }) => lastModified >= since).map(({ cwd }) => cwd);
    this.#check(new Set([...active, ...[...this.#views].map(({ cwd }) => cwd)]));
  }

  #check(folders: ReadonlySet<string>): void {
    for (const worker of this.#workers.values()) worker.check(folders);
  }

  #worker(asked: string | undefined): GitWorker {
    const account = asked === this.#parts.account.user ? undefined : asked;
    const known = this.#workers.get(account);
    if (known !== undefined) {
      this.#workers.delete(account);
      this.#workers.set(account, known);
      return known;
    }
    for (const [user, worker] of this.#workers) if (worker.isUnused) this.#workers.delete(user);
    const { node, main, controlDir, isRoot, log } = this.#parts;
    const worker = new GitWorker({
      account,
      start: () => this.#start(account),
      verify: () => this.#verify(account),
      // Hooks of other users cannot reach the sockets of the control directory.
      target: account === undefined || !isRoot ? { node, main, controlDir: controlDir.path } : undefined,
      store: { get: () => this.#file.of(account), set: (entries) => this.#file.set(account, entries) },
      onNotice: (notice) => {
        this.#notices.add(notice);
        this.#announce(notice, account);
      },
      log: account === undefined ? log : log.child({ account }),
      now,
    });
    this.#workers.set(account, worker);
    return worker;
  }

  async #start(account: string | undefined): ReturnType<GitWorkerParts["start"]> {
    this.#makeRoom();
    const { node, env, cgroups } = this.#parts;
    const runner: Runner =
      account === undefined ? ownRunner(this.#parts.account, env) : await userRunner(account, env, cgroups);
    const { user, home, shell } = runner.account;
    const inherited = Object.entries(runner.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !isOwnVariable(entry[0]),
    );
    const own = { HOME: home, USER: user, LOGNAME: user, SHELL: shell, ...Object.fromEntries(inherited) };
    const { identity } = runner;
    if (account !== undefined) this.#verified.set(account, Promise.resolve(identity));
    const program = { file: node, args: [programFile("git-worker")], env: own };
    const errors = { name: "git worker", code: "git_failed" } as const;
    return { process: new WorkerProcess(runner.asWorker(program), errors), identity };
  }

  /** For a starting worker, which counts as running. */
  #makeRoom(): void {
    const running = [...this.#workers.values()].filter(({ isRunning }) => isRunning);
    if (running.length > MAX_WORKERS && !running.some((worker) => worker.release()))
      throw new ServiceError("git_busy", `git works for ${MAX_WORKERS} users already: try again later`);
  }

  async #verify(account: string | undefined): Promise<string> {
    if (account === undefined) return OWN_IDENTITY;
    const ask = async (): Promise<string> => (await userRunner(account, this.#parts.env, undefined)).identity;
    return await (this.#verified.get(account) ?? keepAnswer(this.#verified, account, ask()));
  }

  #eventReply(
    input: RepositoryInput,
    { repoPath, branch, followMode }: RepositoryEvent,
    caller: RepositoryCaller,
  ): object {
    const { event } = GitEvent.parse(input.body);
    const isVisible = (owner: string | undefined): boolean =>
      caller.seesAll || (owner !== undefined && owner === caller.owner);
    const sessionsUpdated = this.#sessionsIn(repoPath, caller.account, isVisible);
    const notification = { type: "git-event", repoPath, branch, event, followMode, sessionsUpdated };
    return { success: true, repoPath, followMode, sessionsUpdated: sessionsUpdated.length, notification };
  }

  #announce({ notification, user }: Notice, account: string | undefined): void {
    const { repoPath, timestamp } = notification;
    try {
      // The owner of a system user's session has the same name. Sessions of other users stay hidden.
      const isVisible = (owner: string | undefined): boolean => account === undefined || owner === account;
      const sessionIds = this.#sessionsIn(repoPath, account, isVisible);
      this.#events.emit({ type: "git-notification", timestamp, owner: user, notification, sessionIds });
    } catch (error) {
      this.#parts.log.warn({ error, repoPath }, "notification not sent");
    }
  }

  /** Ids of sessions that were started in that repository, according to the account's own git worker. */
  #sessionsIn(
    repoPath: string,
    account: string | undefined,
    isVisible: (owner: string | undefined) => boolean,
  ): readonly string[] {
    const { folders } = this.#worker(account);
    return this.#parts.sessions
      .all()
      .filter(({ cwd, owner }) => folders.statusOf(cwd)?.gitMainRepoPath === repoPath && isVisible(owner))
      .map(({ id }) => id);
  }
}

function now(): number {
  return performance.now();
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
