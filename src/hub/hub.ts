// All connected clients, and the feeds that they share: one socket for many sessions, over any backend.
import { randomUUID } from "node:crypto";
import { Emitter } from "../lib/async/emitter.ts";
import { histogram } from "../lib/data/histogram.ts";
import { keyOf, type SourcePosition } from "../protocol/directory/session-change.ts";
import { ServiceError } from "../protocol/errors.ts";
import { isSessionChange, type ServerEvent } from "../protocol/frame/event.ts";
import { encodeFrame, FrameType, type Magic } from "../protocol/frame/frame.ts";
import { encodeJson, type GoAway } from "../protocol/frame/payload.ts";
import { GOAWAY_PATIENCE_MS, PING_INTERVAL_MS } from "../protocol/limits.ts";
import { LOCAL } from "../protocol/schemas/remote.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { Feed } from "./feed.ts";
import type { Peer } from "./outbox.ts";
import { Presence } from "./presence.ts";
import { Traffic } from "./traffic.ts";
import type { HubView, ViewerIdentity } from "./viewer/hub-view.ts";
import { Viewer, type ViewerHub } from "./viewer/viewer.ts";

/** Close code of RFC 6455. */
const GOING_AWAY = 1001;

/** A feed and the number of its subscriptions; at most one for each watched session. */
type SharedFeed = { readonly opening: Promise<Feed>; feed: Feed | undefined; users: number };

type HubOptions = Pick<ViewerHub, "now"> & {
  readonly backend: SessionBackend;
  readonly onFailure?: ViewerHub["onFailure"];
  /** Interval of the pings of a client (contract 1.9). */
  readonly pingIntervalMs?: number;
};

/** From no lag to the largest possible one, see MAX_BEHIND_BYTES. */
const LAG_BUCKETS_BYTES = [0, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

export class Hub implements ViewerHub, Disposable {
  readonly traffic = new Traffic();
  /** The lag of each client in bytes, measured at each ping. */
  readonly lags = histogram("viewer_lag_bytes", "How far each client was behind, every 25 s.", {
    buckets: LAG_BUCKETS_BYTES,
  });
  readonly now: ViewerHub["now"];
  readonly onFailure: ViewerHub["onFailure"];
  readonly #backend: SessionBackend;
  readonly presence: Presence;
  readonly #feeds = new Map<string, SharedFeed>();
  /** With the revision of the last change of sessions that each was sent. */
  readonly #clients = new Map<Viewer, number>();
  readonly #watching: Disposable;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #left = new Emitter<void>();
  readonly #eventFrames = new WeakMap<ServerEvent, Partial<Record<Magic, Uint8Array>>>();
  readonly #epoch = randomUUID();
  #revision = 0;
  #lastId = 0;
  #closedUplinks = 0;
  #isLeaving = false;
  #isClosed = false;

  constructor({ backend, now, onFailure = () => {}, pingIntervalMs = PING_INTERVAL_MS }: HubOptions) {
    this.#backend = backend;
    this.now = now;
    this.onFailure = onFailure;
    this.presence = new Presence(this);
    this.#watching = backend.watch((event) => this.#happened(event));
    this.#keepAlive = setInterval(() => {
      for (const viewer of this.clients) {
        this.lags.observe(viewer.lagBytes);
        viewer.keepAlive();
      }
    }, pingIntervalMs);
    this.#keepAlive.unref();
  }

  /** Position in the changes of sessions. A list that is read after this is at least as new. */
  get position(): SourcePosition {
    return { epoch: this.#epoch, revision: this.#revision };
  }

  /** The clients are being disconnected, and new ones are refused. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get clients(): readonly Viewer[] {
    return [...this.#clients.keys()];
  }

  get viewers(): number {
    return this.#feeds.values().reduce((viewers, { users }) => viewers + users, 0);
  }

  /** Connections of HQs that receive the events of all sessions. `closed`: their number since the start. */
  get uplinks(): { readonly isOpen: boolean; readonly closed: number } {
    return { isOpen: this.clients.some(isUplink), closed: this.#closedUplinks };
  }

  get watchedSessions(): number {
    return this.#feeds.size;
  }

  viewersOf(sessionId: string): number {
    return this.#feeds.get(sessionId)?.users ?? 0;
  }

  /**
   * Adds a client. The caller passes its messages to the viewer, and disposes of it when the client has gone. Without a
   * `view` the client may see and do everything.
   */
  connect(
    peer: Peer,
    who: Omit<ViewerIdentity, "id" | "connectedAt">,
    view: HubView = { sessions: this.#backend, shown: (event) => event },
  ): Viewer {
    if (this.#isClosed) throw new ServiceError("shutting_down", "the server is shutting down");
    this.#lastId += 1;
    const identity = { ...who, id: this.#lastId, connectedAt: new Date().toISOString() };
    const viewer = new Viewer(peer, identity, view, this);
    this.#clients.set(viewer, this.#revision);
    return viewer;
  }

  left(viewer: Viewer): void {
    if (!this.#clients.delete(viewer)) return;
    if (isUplink(viewer)) this.#closedUplinks += 1;
    this.#left.emit();
  }

  /**
   * Sends an event about several sessions, its `sessionIds`, once to each client that may see it or watches one of them. The
   * ids are limited to the sessions that the client may see.
   */
  async tell(event: ServerEvent): Promise<void> {
    const ids = new Set(event.sessionIds);
    const { remoteName = LOCAL } = event;
    // On an HQ a session of another remote may have the same id.
    const sessions = (await this.#backend.list()).filter(
      (session) => ids.has(session.id) && (session.remoteName ?? LOCAL) === remoteName,
    );
    for (const viewer of this.clients) {
      const seen = sessions.filter((session) => viewer.view.shown(ofOne(event, session)) !== undefined);
      viewer.tell({ ...event, sessionIds: seen.map(({ id }) => id) }, viewer.view.shown(event) !== undefined);
    }
  }

  /** Sends an event to each client of the user that watches everything. Returns their number. */
  tellUser(user: string, event: ServerEvent): number {
    const viewers = this.clients.filter(({ identity, isGlobal }) => identity.user === user && isGlobal);
    for (const viewer of viewers) viewer.notify(event);
    return viewers.length;
  }

  /**
   * Clients that know GOAWAY leave by themselves; the others are closed over `jitterMs` after `afterMs`, so that not all
   * reconnect at the same instant. Resolves when all have gone, or the remaining ones were told to close. `random`: 0 to
   * 1, as Math.random.
   */
  async drain(notice: GoAway, random: () => number): Promise<void> {
    const { afterMs, jitterMs, reason } = notice;
    this.#isLeaving = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    using stack = new DisposableStack();
    const later = (ms: number, work: () => void): void => {
      const timer = setTimeout(work, ms);
      stack.defer(() => clearTimeout(timer));
    };
    stack.use(this.#left.on(() => void (this.#clients.size === 0 && resolve())));
    for (const viewer of this.clients) {
      const close = (): void => viewer.close(GOING_AWAY, reason);
      if (!viewer.goAway(notice)) later(afterMs + random() * jitterMs, close);
    }
    later(afterMs + jitterMs + GOAWAY_PATIENCE_MS, () => {
      for (const viewer of this.clients) viewer.close(GOING_AWAY, reason);
      resolve();
    });
    if (this.#clients.size === 0) resolve();
    await promise;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#keepAlive);
    this.#watching[Symbol.dispose]();
    this.presence[Symbol.dispose]();
    for (const viewer of this.clients) viewer[Symbol.dispose]();
  }

  #happened(event: ServerEvent): void {
    if (event.type === "session-removed") this.#removed(event);
    if (event.sessionIds !== undefined) return void this.tell(event).catch(this.onFailure);
    if (isSessionChange(event)) this.#changed(event);
    else this.#tellAll(event);
  }

  #tellAll(event: ServerEvent): void {
    for (const viewer of this.clients) {
      const told = viewer.view.shown(event);
      if (told !== undefined) viewer.notify(told);
    }
  }

  #changed({ record, ...event }: ServerEvent): void {
    this.#revision += 1;
    const counted = record && { record: { ...record, viewers: this.viewersOf(record.id) } };
    const numbered = { ...event, ...counted, ...this.position };
    // The same for all who were told the same before, so that it is encoded once.
    const after = new Map<number, ServerEvent>([[this.#revision - 1, numbered]]);
    for (const [viewer, previous] of this.#clients) {
      const told = viewer.isGlobal ? viewer.view.shown(numbered) : undefined;
      if (told === undefined) continue;
      this.#clients.set(viewer, this.#revision);
      const encoded = told === numbered ? after.get(previous) : undefined;
      const own = encoded ?? (previous === this.#revision - 1 ? told : { ...told, previous });
      if (told === numbered) after.set(previous, own);
      viewer.notify(own);
    }
  }

  eventFrame(event: ServerEvent, magic: Magic): Uint8Array {
    const frames = this.#eventFrames.get(event) ?? {};
    this.#eventFrames.set(event, frames);
    frames[magic] ??= encodeFrame(FrameType.EVENT, event.sessionId ?? "", encodeJson(event), magic);
    return frames[magic];
  }

  /**
   * Another session may get the same id, and must not get the feed of the removed one. A feed that is being opened may be that
   * of the next session already.
   */
  #removed({ sessionId = "", key }: ServerEvent): void {
    const sharedFeed = this.#feeds.get(sessionId);
    const lose = (feed: Feed): void => {
      if (this.#feeds.get(sessionId) !== sharedFeed || keyOf(feed.record) !== key) return;
      this.#feeds.delete(sessionId);
      feed.lose(new ServiceError("session_not_found", `session ${sessionId} was removed`));
    };
    if (sharedFeed?.feed !== undefined) lose(sharedFeed.feed);
    else sharedFeed?.opening.then(lose, () => {});
  }

  /** Feeds are shared, so the client's own view of the sessions decides whether it may have one. */
  async openFeed(sessions: SessionBackend, sessionId: string, flags: number): Promise<Feed> {
    if (sessions !== this.#backend) await sessions.find(sessionId);
    const sharedFeed = this.#feeds.get(sessionId) ?? {
      opening: Feed.open(this.#backend, sessionId, flags),
      feed: undefined,
      users: 0,
    };
    this.#feeds.set(sessionId, sharedFeed);
    sharedFeed.users += 1;
    try {
      const feed = await sharedFeed.opening;
      // Its session was removed before this client asked for the next one.
      if (this.#feeds.get(sessionId) !== sharedFeed) return await this.openFeed(sessions, sessionId, flags);
      sharedFeed.feed = feed;
      return feed;
    } catch (error) {
      if (this.#feeds.get(sessionId) === sharedFeed) this.#feeds.delete(sessionId);
      throw error;
    }
  }

  /** The feed of a removed session may have been replaced already. */
  closeFeed(feed: Feed): void {
    const sharedFeed = this.#feeds.get(feed.sessionId);
    if (sharedFeed?.feed !== feed) return;
    sharedFeed.users -= 1;
    if (sharedFeed.users > 0) return;
    this.#feeds.delete(feed.sessionId);
    feed[Symbol.dispose]();
  }
}

/** Anybody may send the HELLO of an uplink. */
function isUplink({ identity, isGlobal, isUplink }: Viewer): boolean {
  return identity.kind === "hq" && isGlobal && isUplink;
}

function ofOne({ owner: _, ...event }: ServerEvent, { id, owner }: SessionRecord): ServerEvent {
  return { ...event, sessionId: id, ...(owner === undefined ? {} : { owner }) };
}
