// One socket, many sessions, over any backend.
import { ServiceError } from "../protocol/errors.ts";
import { PING_INTERVAL_MS } from "../protocol/limits.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { Feed } from "./feed.ts";
import type { Peer } from "./outbox.ts";
import { Viewer } from "./viewer.ts";

/** A feed and how many subscriptions hold it. */
type Shared = { readonly opening: Promise<Feed>; users: number };

/** Who is connected, for GET /api/clients. */
export type HubClient = {
  readonly id: number;
  readonly user: string;
  readonly address: string | undefined;
  readonly connectedAt: string;
  readonly viewer: Viewer;
};

export class Hub implements AsyncDisposable {
  readonly #backend: SessionBackend;
  readonly #now: () => number;
  readonly #feeds = new Map<string, Shared>();
  readonly #clients = new Set<HubClient>();
  readonly #watching: Disposable;
  readonly #keepAlive: NodeJS.Timeout;
  #lastId = 0;
  #isClosed = false;

  /** `now` in milliseconds, monotonic. */
  constructor(options: { backend: SessionBackend; now: () => number }) {
    this.#backend = options.backend;
    this.#now = options.now;
    this.#watching = options.backend.watch((event) => {
      for (const client of [...this.#clients]) client.viewer.notify(event);
    });
    this.#keepAlive = setInterval(() => {
      for (const client of [...this.#clients]) client.viewer.keepAlive();
    }, PING_INTERVAL_MS);
    this.#keepAlive.unref();
  }

  get clients(): readonly HubClient[] {
    return [...this.#clients];
  }

  /** Subscriptions to a session at this moment. */
  viewersOf(sessionId: string): number {
    return this.#feeds.get(sessionId)?.users ?? 0;
  }

  /** A client has connected; the caller hands its messages to the viewer and disposes of the client when it has gone. */
  connect(peer: Peer, who: { user: string; address: string | undefined }): HubClient & AsyncDisposable {
    if (this.#isClosed) throw new ServiceError("shutting_down", "the server is shutting down");
    const viewer = new Viewer({
      peer,
      backend: this.#backend,
      now: this.#now,
      openFeed: (sessionId) => this.#openFeed(sessionId),
      closeFeed: (feed) => this.#closeFeed(feed),
    });
    this.#lastId += 1;
    const client = { id: this.#lastId, ...who, connectedAt: new Date().toISOString(), viewer };
    this.#clients.add(client);
    return {
      ...client,
      [Symbol.asyncDispose]: async () => {
        this.#clients.delete(client);
        await viewer[Symbol.asyncDispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#keepAlive);
    this.#watching[Symbol.dispose]();
    await Promise.all([...this.#clients].map((client) => client.viewer[Symbol.asyncDispose]()));
    this.#clients.clear();
  }

  async #openFeed(sessionId: string): Promise<Feed> {
    const shared = this.#feeds.get(sessionId) ?? { opening: Feed.open(this.#backend, sessionId), users: 0 };
    this.#feeds.set(sessionId, shared);
    shared.users += 1;
    try {
      return await shared.opening;
    } catch (error) {
      if (this.#feeds.get(sessionId) === shared) this.#feeds.delete(sessionId);
      throw error;
    }
  }

  #closeFeed(feed: Feed): void {
    const shared = this.#feeds.get(feed.sessionId);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#feeds.delete(feed.sessionId);
    feed[Symbol.dispose]();
  }
}
