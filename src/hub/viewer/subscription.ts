// What one client has asked of one session. It is pulled: the viewer takes the next frame when its socket has room.
import type { ServiceError } from "../../protocol/errors.ts";
import { encodeFrame, FrameType, type Magic } from "../../protocol/frame/frame.ts";
import { encodeJson, type Subscribe, type Subscribed, SubscribeFlag } from "../../protocol/frame/payload.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed, FeedReader } from "../feed.ts";
import { Cursor, type CursorHost } from "./cursor.ts";
import { FrameQueue } from "./frame-queue.ts";
import { readSnapshot, Snapshots } from "./snapshots.ts";

/** What a subscription needs of the connection that it belongs to. */
export type SubscriptionHost = {
  readonly magic: Magic;
  /** How long the client took nothing lately, in ms. */
  readonly pauseMs: number;
  /** Nothing of the repository that a session is in is for the client. */
  readonly isRepositoryHidden: boolean;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** There may be something to take. */
  wake(subscription: Subscription): void;
  /** It is sent a screen in place of output. */
  redrawn(): void;
  failed(sessionId: string, error: unknown): void;
  /** The session is gone. */
  lost(subscription: Subscription, error: ServiceError): void;
};

export class Subscription implements FeedReader, CursorHost, AsyncDisposable {
  readonly feed: Feed;
  readonly #backend: SessionBackend;
  readonly #host: SubscriptionHost;
  readonly #frames: FrameQueue;
  readonly #cursor: Cursor;
  readonly #following: Disposable;
  readonly #abort = new AbortController();
  #snapshots: Snapshots | undefined;
  #flags = 0;
  #isStatusDue = false;

  constructor(options: {
    feed: Feed;
    backend: SessionBackend;
    historyFrom: number | undefined;
    host: SubscriptionHost;
  }) {
    const { feed, backend, historyFrom, host } = options;
    this.feed = feed;
    this.#backend = backend;
    this.#host = host;
    this.#frames = new FrameQueue(feed.sessionId, () => host.magic);
    this.#cursor = new Cursor({ feed, backend, historyFrom, frames: this.#frames, host: this });
    this.#following = feed.follow(this);
  }

  get next(): number {
    return this.#cursor.next;
  }

  /** Output that there is and the client has not been offered, in bytes. */
  get lagBytes(): number {
    return this.#has(SubscribeFlag.Stdout) ? Math.max(0, this.feed.end - this.#frames.position) : 0;
  }

  get hasEvents(): boolean {
    return (this.#flags & SubscribeFlag.Events) !== 0;
  }

  get flags(): number {
    return this.#flags;
  }

  get pauseMs(): number {
    return this.#host.pauseMs;
  }

  /**
   * A SUBSCRIBE, the first or a further one: output that the client has had is not repeated (contract 1.7). `known`:
   * bytes of output that are known to exist, which may be more than the feed has. Returns what is to be told before
   * anything is taken; undefined to a client without offsets.
   */
  apply(request: Subscribe, known: number): Subscribed | undefined {
    this.#flags = request.flags;
    const wantsOutput = this.#has(SubscribeFlag.Stdout);
    const hasOffsets = this.#has(SubscribeFlag.Offsets);
    const had = this.#frames.taken;
    this.#frames.seek(this.#beginning(request, known), { hasOffsets });
    if (!wantsOutput) this.#cursor.silence();
    else if (had === undefined && this.#isElsewhere(request)) this.#cursor.restart();
    else if (had === undefined && !hasOffsets) this.#cursor.replay();
    else this.#cursor.seek({ isResuming: request.from !== undefined || this.#cursor.isResuming });
    this.#applySnapshots(request);
    this.#isStatusDue = true;
    if (!hasOffsets) return undefined;
    if (wantsOutput) this.#frames.told();
    const { cols, rows, status } = this.feed.record;
    const offset = wantsOutput ? this.#frames.position : this.feed.end;
    return { flags: this.#flags, offset, cols, rows, status };
  }

  /** Resolves when the feed has what a SUBSCRIBE with these flags needs. Throws where its upstream does not answer. */
  async prepare(flags: number): Promise<void> {
    await this.feed.want(this, flags);
  }

  wake(): void {
    this.#host.wake(this);
  }

  redrawn(): void {
    this.#host.redrawn();
  }

  failed(error: unknown): void {
    this.#host.failed(this.feed.sessionId, error);
  }

  onEntry(): void {
    if (this.feed.record.status === "exited") this.#snapshots?.finish();
    else if (!this.feed.hasSnapshots) this.#snapshots?.changed();
    this.wake();
  }

  onSnapshot(): void {
    this.#snapshots?.changed();
  }

  onGitStatus(): void {
    this.#isStatusDue = true;
    this.wake();
  }

  onLost(error: ServiceError): void {
    this.#host.lost(this, error);
  }

  /** The next frame for the client; undefined when there is none now: `wake` follows when there is. */
  take(): Uint8Array | undefined {
    for (;;) {
      const queued = this.#takeStatus() ?? this.#frames.take() ?? this.#takeSnapshot();
      if (queued !== undefined) return queued;
      // The exit comes after all that the session showed.
      if (this.#snapshots?.isDue && this.#cursor.isAtExit) return undefined;
      if (!this.#cursor.step()) return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    this.#following[Symbol.dispose]();
    this.#snapshots?.[Symbol.dispose]();
    await this.#cursor[Symbol.asyncDispose]();
  }

  #has(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  /** Where the client's output begins or goes on. */
  #beginning({ from }: Subscribe, known: number): number {
    if (from === "live") return this.feed.end;
    return Math.min(from ?? this.#frames.taken ?? 0, Math.max(this.feed.end, known));
  }

  /** A byte of another subscription's count, to a session whose bytes are counted from its own. */
  #isElsewhere({ from }: Subscribe): boolean {
    return !this.feed.isRecorded && typeof from === "number" && from > 0;
  }

  #applySnapshots(request: Subscribe): void {
    this.#snapshots?.[Symbol.dispose]();
    this.#snapshots = undefined;
    if (!this.#has(SubscribeFlag.Snapshots)) return;
    this.#snapshots = new Snapshots({
      ...request,
      now: this.#host.now,
      read: () => this.#readSnapshot(),
      onReady: () => this.wake(),
    });
  }

  /** Of a session that has ended the upstream may have nothing more to say. */
  async #readSnapshot(): Promise<Uint8Array | undefined> {
    const { snapshot, hasSnapshots, record, sessionId } = this.feed;
    if (snapshot !== undefined || (hasSnapshots && record.status !== "exited")) return snapshot;
    return await readSnapshot(this.#backend, sessionId, this.#abort.signal);
  }

  /** The newest counts alone: who does not keep up misses those between. */
  #takeStatus(): Uint8Array | undefined {
    const { sessionId, gitStatus } = this.feed;
    const isWanted = this.#isStatusDue && this.hasEvents && !this.#host.isRepositoryHidden;
    if (!isWanted || gitStatus === undefined) return undefined;
    this.#isStatusDue = false;
    return encodeFrame(FrameType.EVENT, sessionId, encodeJson(gitStatus), this.#host.magic);
  }

  #takeSnapshot(): Uint8Array | undefined {
    const snapshot = this.#snapshots?.take();
    if (snapshot === undefined) return undefined;
    return encodeFrame(FrameType.SNAPSHOT_VT, this.feed.sessionId, snapshot, this.#host.magic);
  }
}
