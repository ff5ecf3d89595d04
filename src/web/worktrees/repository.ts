// A session's repository for its view. At an HQ the requests go to the session's machine.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Caller } from "../../protocol/client/caller.ts";
import { gitEndpoints } from "../../protocol/endpoints/git.ts";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { FollowReply, FollowStatus, GitNotification } from "../../protocol/schemas/follow.ts";
import type {
  BranchRecord,
  WorktreeList,
  WorktreeLosses,
  WorktreeRecord,
} from "../../protocol/schemas/git.ts";
import { Refresher, type RefresherOptions } from "../refresher.ts";
import { branchName } from "./worktree-words.ts";

export type RepositoryState = {
  readonly list: WorktreeList;
  readonly follow: FollowStatus;
  readonly branches: readonly BranchRecord[];
};

export type RepositoryOptions = {
  readonly caller: Pick<Caller, "call">;
  /** The top of the session's worktree. */
  readonly path: string;
  /** Distinguishes this view from others of the same login: each reads all notifications. */
  readonly client: string;
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
} & Pick<RefresherOptions, "stage">;

export type NewWorktree = {
  readonly branch: string;
  readonly baseBranch?: string;
  readonly path?: string;
};

/** Shorter than for other lists: a user waits for the effect of a change. */
const READ_INTERVAL_MS = 800;
/** The oldest are dropped. */
const MAX_NOTIFICATIONS = 50;

export class Repository implements Disposable {
  readonly #options: RepositoryOptions;
  readonly #state = signal<RepositoryState | undefined>(undefined);
  /** Undefined until it is read. */
  readonly state: ReadonlySignal<RepositoryState | undefined> = this.#state;
  readonly #failure = signal<unknown>(undefined);
  /** The reason why it could not be read. */
  readonly failure: ReadonlySignal<unknown> = this.#failure;
  readonly #notifications = signal<readonly GitNotification[]>([]);
  /** Notifications of follow mode in this repository, the newest first. */
  readonly notifications: ReadonlySignal<readonly GitNotification[]> = this.#notifications;
  readonly #scope = new DisposableStack();
  readonly #refresher: Refresher;

  constructor(options: RepositoryOptions) {
    this.#options = options;
    this.#refresher = this.#scope.use(
      new Refresher({
        read: (signal) => this.#read(signal),
        ...{ stage: options.stage, intervalMs: READ_INTERVAL_MS },
      }),
    );
    this.#scope.use(
      options.subscribe(({ type }) => {
        if (type === "connected") this.#refresher.renewed();
        else if (type === "git-notification") this.refresh();
      }),
    );
    this.refresh();
  }

  /** Something in it has changed. */
  refresh(): void {
    this.#refresher.refresh();
  }

  async losses({ path }: WorktreeRecord): Promise<WorktreeLosses | undefined> {
    const query = { repoPath: path, losses: "1" } as const;
    return (await this.#options.caller.call(gitEndpoints.repositoryStatus, { query })).losses;
  }

  async create(worktree: NewWorktree): Promise<void> {
    await this.#change(gitEndpoints.createWorktree, { body: { ...this.#place, ...worktree } });
  }

  /** `isForced`: also with uncommitted changes. */
  async remove(worktree: WorktreeRecord, { isForced }: { readonly isForced: boolean }): Promise<void> {
    const query = { ...this.#place, force: isForced ? "true" : "false" } as const;
    await this.#change(gitEndpoints.removeWorktree, { params: { branch: branchName(worktree) }, query });
  }

  async prune(): Promise<void> {
    await this.#change(gitEndpoints.pruneWorktrees, { body: this.#place });
  }

  /** Switches the main worktree. */
  async switchTo(branch: string): Promise<void> {
    await this.#change(gitEndpoints.switchBranch, { body: { ...this.#place, branch } });
  }

  /** `branch`: the branch whose worktree the main one follows; undefined ends follow mode. */
  async follow(branch: string | undefined, { dryRun }: { readonly dryRun: boolean }): Promise<FollowReply> {
    const enable = branch !== undefined;
    const body = { ...this.#place, ...(enable && { branch }), enable, dryRun };
    const reply = await this.#options.caller.call(gitEndpoints.setFollow, { body });
    if (!dryRun) this.refresh();
    return reply;
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  get #place(): { readonly repoPath: string } {
    return { repoPath: this.#options.path };
  }

  readonly #change: Caller["call"] = async (endpoint, input) => {
    try {
      return await this.#options.caller.call(endpoint, input);
    } finally {
      // Also after a failure, whose reason may be a change that the list does not show yet.
      this.refresh();
    }
  };

  async #read(signal: AbortSignal): Promise<void> {
    const { caller, client } = this.#options;
    const query = this.#place;
    try {
      const [list, follow, branches, news] = await Promise.all([
        caller.call(gitEndpoints.listWorktrees, { query }, signal),
        caller.call(gitEndpoints.getFollow, { query }, signal),
        caller.call(gitEndpoints.listBranches, { query }, signal),
        caller.call(gitEndpoints.listNotifications, { query: { client } }, signal),
      ]);
      this.#failure.value = undefined;
      this.#state.value = { list, follow, branches };
      const own = news.notifications.filter(({ repoPath }) => repoPath === follow.repoPath);
      this.#notifications.value = [...own.toReversed(), ...this.#notifications.peek()].slice(
        0,
        MAX_NOTIFICATIONS,
      );
    } catch (error) {
      if (!signal.aborted) this.#failure.value = error;
      throw error;
    }
  }
}
