// One client's view of one session: its position in the output, the frames that it gets next, and how far it is behind.
import { ServiceError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/frame/event.ts";
import { encodeFrame, encodeOutputFrame, FrameType } from "../../protocol/frame/frame.ts";
import { encodeJson, type Subscribe, type Subscribed, SubscribeFlag } from "../../protocol/frame/payload.ts";
import { FEED_WINDOW_BYTES, MAX_BEHIND_BYTES, STALLED_AFTER_MS } from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed, FeedChange, FeedEntry, FeedReader, SharedOutput } from "../feed.ts";
import { headerEvent, planReplay } from "../legacy/replay.ts";
import { StdoutEncoder } from "../legacy/stdout-encoder.ts";
import type { FrameSource, Outbox } from "../outbox.ts";
import { CatchUp } from "./catch-up.ts";
import { screenAt } from "./screen.ts";
import { readSnapshot, Snapshots } from "./snapshots.ts";

/** The parts of a connection that its subscriptions use. */
export type SubscriptionHost = {
  readonly outbox: Pick<Outbox, "magic" | "pauseMs" | "ready">;
  /** The client may not see anything about the session's repository. */
  readonly isRepositoryHidden: boolean;
  readonly isUplink: boolean;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** A screen was queued instead of output. */
  redrawn(): void;
  failed(sessionId: string, error: unknown): void;
  /** The session is gone. */
  lost(subscription: Subscription, error: ServiceError): void;
};

/** A frame. `next`: after a frame of output, the offset of the byte that the client needs then. */
type Queued = { readonly frame: Uint8Array; readonly next: number | undefined };

/** `live`: follows the feed's window. `behind`: needs older output. `busy`: waits for the journal or a screen. */
type Mode = "live" | "behind" | "busy";

/**
 * The feed reports changes to the subscription, and the outbox takes one frame at a time from it, in turn with the
 * connection's other subscriptions. At most a handful of frames is queued: the next step begins when the queue is empty.
 */
export class Subscription implements FeedReader, FrameSource, AsyncDisposable {
  readonly feed: Feed;
  readonly #backend: SessionBackend;
  readonly #host: SubscriptionHost;
  readonly #following: Disposable;
  readonly #catchUp: CatchUp;
  /** The client may not see output before `to`, nor events up to there in entries of the feed below number `before`. */
  readonly #hidden: { readonly to: number; readonly before: number } | undefined;
  readonly #queue: Queued[] = [];
  #flags = 0;
  /** Encodes for a client without offsets. */
  #stdout: StdoutEncoder | undefined;
  /** Offset after the output that has been queued. */
  #position = 0;
  /** Offset after the output that the client has received; undefined before any. */
  #taken: number | undefined;
  #mode: Mode = "busy";
  /** Number of the feed's entry that comes next, now or once the journal is read. */
  #next: number;
  /** The beginning of the history of a client without offsets is not known yet. */
  #isReplaying = false;
  /** The client asked for old output, or was just redrawn, and is not redrawn for being far behind. */
  #isResuming = false;
  /** The client was told of the exit, which the feed may report again when another client wants more of the session. */
  #hasEnded = false;
  #snapshots: Snapshots | undefined;
  #isStatusDue = false;

  constructor(options: {
    feed: Feed;
    backend: SessionBackend;
    historyFrom: number | undefined;
    host: SubscriptionHost;
  }) {
    const { feed, historyFrom: to } = options;
    this.feed = feed;
    this.#backend = options.backend;
    this.#host = options.host;
    this.#hidden = to === undefined ? undefined : { to: feed.isRecorded ? to : feed.end, before: feed.after };
    this.#next = feed.after;
    this.#catchUp = new CatchUp(feed, options.backend, {
      settled: () => this.#wake(),
      failed: (error) => this.#host.failed(feed.sessionId, error),
    });
    this.#following = feed.follow(this);
  }

  /** Number of the next entry of the feed to read. */
  get next(): number {
    return this.#next;
  }

  /** Bytes of output that were not queued for the client yet. */
  get lagBytes(): number {
    return this.#has(SubscribeFlag.Stdout) ? Math.max(0, this.feed.end - this.#position) : 0;
  }

  get hasEvents(): boolean {
    return this.#has(SubscribeFlag.Events);
  }

  /**
   * Applies a SUBSCRIBE, the first or a later one. Output that the client has is not repeated (contract 1.7). `known`: bytes
   * of output that exist, perhaps more than the feed has. Returns the payload of SUBSCRIBED, which must be sent before any
   * frame is taken; undefined for a client without offsets.
   */
  apply(request: Subscribe, known: number): Subscribed | undefined {
    const isNew = this.#flags === 0;
    this.#flags = request.flags;
    const wantsOutput = this.#has(SubscribeFlag.Stdout);
    const hasOffsets = this.#has(SubscribeFlag.Offsets);
    const isFirst = this.#taken === undefined;
    this.#seek(this.#beginning(request, known, isNew), hasOffsets);
    if (!wantsOutput) this.#followEvents();
    else {
      this.#resume(request.from !== undefined || this.#isResuming);
      if (isFirst && this.#isMissingOutput(request)) this.#redraw();
      else this.#isReplaying = isFirst && !hasOffsets;
    }
    this.#applySnapshots(request);
    this.#isStatusDue = true;
    if (!hasOffsets) return undefined;
    if (wantsOutput) this.#taken = this.#position;
    const { cols, rows, status } = this.feed.record;
    const offset = wantsOutput ? this.#position : this.feed.end;
    return { flags: this.#flags, offset, cols, rows, status };
  }

  onChange(change: FeedChange): void {
    if (change === "lost")
      this.#host.lost(this, this.feed.loss ?? new ServiceError("internal_error", "lost"));
    else if (change === "snapshot") this.#snapshots?.changed();
    else {
      if (change === "git-status") this.#isStatusDue = true;
      else if (this.feed.record.status === "exited") this.#snapshots?.finish();
      else if (!this.feed.hasSnapshots) this.#snapshots?.changed();
      this.#wake();
    }
  }

  /** The next frame for the client; undefined if there is none now. The outbox is told when there is one. */
  take(): Uint8Array | undefined {
    for (;;) {
      const status = this.#takeStatus();
      if (status !== undefined) return status;
      const queued = this.#queue.shift();
      if (queued !== undefined) {
        this.#taken = queued.next ?? this.#taken;
        return queued.frame;
      }
      const snapshot = this.#snapshots?.take();
      if (snapshot !== undefined) return this.#encode(FrameType.SNAPSHOT_VT, snapshot);
      // The exit follows the last screen.
      if (this.#snapshots?.isDue && this.#isAtExit) return undefined;
      if (!this.#step()) return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following[Symbol.dispose]();
    this.#snapshots?.[Symbol.dispose]();
    await this.#catchUp[Symbol.asyncDispose]();
  }

  #has(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  #wake(): void {
    if (!this.#catchUp.signal.aborted) this.#host.outbox.ready(this);
  }

  /** The offset at which the client's output begins or continues. */
  #beginning({ from }: Subscribe, known: number, isNew: boolean): number {
    if (from === "live") return isNew && this.#host.isUplink ? this.feed.recentStart : this.feed.end;
    return Math.min(from ?? this.#taken ?? 0, Math.max(this.feed.end, known));
  }

  /**
   * Offsets of an unrecorded session begin with the feed. An offset from an earlier feed has no meaning, and the offset from
   * which a share may see the output is not known.
   */
  #isMissingOutput({ from }: Subscribe): boolean {
    if (this.feed.isRecorded) return false;
    return this.#hidden !== undefined || (typeof from === "number" && from > 0);
  }

  /** Discards the queue. The next output begins at `offset`. */
  #seek(offset: number, hasOffsets: boolean): void {
    this.#queue.length = 0;
    this.#position = offset;
    this.#stdout = hasOffsets ? undefined : new StdoutEncoder(this.feed.sessionId, this.#host.outbox.magic);
  }

  #leave(): void {
    this.#mode = "behind";
    this.#next = Number.POSITIVE_INFINITY;
    this.#isReplaying = false;
    this.#catchUp.cancel();
  }

  /** Output continues at the position. `isResuming`: the client asked for it and gets everything that is still held. */
  #resume(isResuming: boolean): void {
    this.#isResuming = isResuming;
    this.#hasEnded = false;
    this.#leave();
  }

  /** Queues only events, beginning with the exit if there was one. */
  #followEvents(): void {
    this.#resume(false);
    this.#mode = "live";
    const { last, after } = this.feed;
    this.#next = last?.kind === "event" && last.event.kind === "exit" ? after - 1 : after;
  }

  /** Queues the next frames; false if there is nothing now. */
  #step(): boolean {
    if (this.#mode === "busy") return false;
    if (this.#mode === "behind") this.#approach();
    else if (this.#next < this.feed.first) this.#fallBehind();
    else return this.#follow();
    return true;
  }

  /** The next step would queue the exit. */
  get #isAtExit(): boolean {
    if (this.#mode !== "live" || this.#next < this.feed.first) return false;
    const entry = this.feed.entry(this.#next);
    return entry?.kind === "event" && entry.event.kind === "exit";
  }

  /** Enters the window, or reads the journal before it, or the screen. */
  #approach(): void {
    const position = this.#position;
    if (this.#isReplaying) this.#replay();
    else if (this.#hidden !== undefined && position < this.#hidden.to) this.#redraw();
    else if (!this.#catchUp.isReading && position >= this.feed.start) {
      this.#next = this.feed.find(position);
      this.#mode = "live";
      this.#catchUp.caughtUp();
    } else if (this.#isTooFar(position) || !this.feed.isRecorded) this.#redraw();
    else this.#read();
  }

  /** The client gets the screen instead of the output that it has missed. */
  #isTooFar(position: number): boolean {
    const lag = this.feed.end - position;
    const isStalled = lag > FEED_WINDOW_BYTES && this.#host.outbox.pauseMs > STALLED_AFTER_MS;
    return !this.#isResuming && (isStalled || lag > MAX_BEHIND_BYTES);
  }

  #fallBehind(): void {
    if (this.#has(SubscribeFlag.Stdout)) this.#leave();
    else this.#next = this.feed.first;
  }

  #follow(): boolean {
    const entry = this.feed.entry(this.#next);
    if (entry === undefined) return false;
    const isHidden = this.#isHidden(entry);
    this.#next += 1;
    this.#isResuming = false;
    if (!isHidden) this.#emit(entry);
    return true;
  }

  #isHidden(entry: FeedEntry): boolean {
    if (this.#hidden === undefined || entry.kind !== "event" || entry.event.kind === "exit") return false;
    return this.#next < this.#hidden.before && entry.end <= this.#hidden.to;
  }

  #emit(entry: FeedEntry): void {
    const hasOutput = this.#has(SubscribeFlag.Stdout);
    // The screen that the client has includes this entry.
    if (hasOutput && entry.end < this.#position) return;
    if (entry.kind === "event") this.#emitEvent(entry.event);
    else if (!hasOutput || entry.end === this.#position) return;
    else if (entry.kind === "gap") this.#leave();
    else this.#pushShared(entry.output);
  }

  #emitEvent(event: SessionEvent): void {
    if (event.kind === "exit" && this.#hasEnded) return;
    this.#hasEnded ||= event.kind === "exit";
    if (event.kind === "exit") this.#pushOutput(this.#stdout?.rest());
    const isOurs = event.kind === "title" || event.kind === "marker";
    const isWanted = this.hasEvents && (!isOurs || this.#has(SubscribeFlag.Offsets));
    if (event.kind === "exit" || isWanted) this.#pushEvent(event);
  }

  /** The window is kept from its beginning meanwhile, because the journal is read up to there. */
  #read(): void {
    if (!this.#catchUp.isReading) this.#next = this.feed.first;
    this.#work(
      () => this.#catchUp.read(this.#position, this.hasEvents),
      (piece) => {
        this.#mode = "behind";
        if (piece instanceof Uint8Array) this.#pushOwn(piece);
        else if (piece !== undefined) this.#pushEvent(piece);
        else if (!this.#catchUp.finish()) this.#redraw(this.#position);
      },
    );
  }

  /** The history of a client without offsets, then the output (contract 1.7). */
  #replay(): void {
    const { end } = this.feed;
    const hasEvents = this.hasEvents;
    this.#work(
      async () => ({
        plan: await planReplay(this.#backend, this.feed, hasEvents, this.#catchUp.signal),
        // The record as this client may see it; the feed's is unfiltered.
        record: hasEvents ? await this.#backend.get(this.feed.sessionId) : undefined,
      }),
      ({ plan, record }) => {
        this.#seek(plan?.offset ?? end, false);
        if (record !== undefined) this.#pushEvent(headerEvent(record, plan?.size ?? this.feed.record));
        if (plan === undefined) this.#redraw();
        else {
          if (plan.prefix.length > 0) this.#push(this.#encode(FrameType.STDOUT, plan.prefix));
          this.#resume(true);
        }
      },
    );
  }

  /** `emptyFrom`: the journal has no output from there up to the window. */
  #redraw(emptyFrom?: number): void {
    this.#work(
      () => this.#catchUp.screen(this.#hidden !== undefined),
      (drawn) => {
        const { offset } = drawn.resync;
        // After a crash of the host, the bytes between the screen and the window are lost.
        const isCutOff = emptyFrom !== undefined && offset <= emptyFrom;
        const least = isCutOff ? this.feed.start : (this.#hidden?.to ?? 0);
        const { payload, resync } = offset < least ? screenAt(least, drawn.resync) : drawn;
        this.#position = resync.offset;
        this.#pushOutput(this.#stdout?.screen(resync.bytes) ?? this.#encode(FrameType.RESYNC, payload));
        this.#host.redrawn();
        this.#resume(true);
      },
    );
  }

  /** The client gets nothing of this session until `answer` was called. */
  #work<T>(ask: () => Promise<T>, answer: (result: T) => void): void {
    this.#mode = "busy";
    this.#catchUp.work(ask, answer, () => {
      this.#mode = "behind";
    });
  }

  #applySnapshots(request: Subscribe): void {
    this.#snapshots?.[Symbol.dispose]();
    this.#snapshots = undefined;
    if (!this.#has(SubscribeFlag.Snapshots)) return;
    this.#snapshots = new Snapshots({
      ...request,
      now: this.#host.now,
      read: () => readSnapshot(this.feed, this.#backend, this.#catchUp.signal),
      onReady: () => this.#wake(),
    });
  }

  /** Only the latest counts: a slow client misses earlier ones. */
  #takeStatus(): Uint8Array | undefined {
    const { gitStatus } = this.feed;
    const isWanted = this.#isStatusDue && this.hasEvents && !this.#host.isRepositoryHidden;
    if (!isWanted || gitStatus === undefined) return undefined;
    this.#isStatusDue = false;
    return this.#encode(FrameType.EVENT, encodeJson(gitStatus));
  }

  #pushEvent(event: object): void {
    this.#push(this.#encode(FrameType.EVENT, encodeJson(event)));
  }

  /** Queues output that all viewers share, without the bytes that the client has. */
  #pushShared(output: SharedOutput): void {
    const had = this.#position - output.offset;
    if (had > 0) {
      this.#pushOwn(output.bytes.subarray(had));
      return;
    }
    this.#position = output.end;
    if (this.#stdout !== undefined) this.#pushOutput(this.#stdout.output(output.bytes, output));
    else this.#pushOutput(output.output(this.#host.outbox.magic));
  }

  /** Queues output for this client only. */
  #pushOwn(bytes: Uint8Array): void {
    const offset = this.#position;
    this.#position += bytes.length;
    if (this.#stdout !== undefined) this.#pushOutput(this.#stdout.output(bytes));
    else this.#pushOutput(encodeOutputFrame(this.feed.sessionId, offset, bytes, this.#host.outbox.magic));
  }

  #pushOutput(frame: Uint8Array | undefined): void {
    if (frame !== undefined) this.#push(frame, this.#position - (this.#stdout?.heldBytes ?? 0));
  }

  #push(frame: Uint8Array, next?: number): void {
    this.#queue.push({ frame, next });
  }

  #encode(type: FrameType, payload: Uint8Array): Uint8Array {
    return encodeFrame(type, this.feed.sessionId, payload, this.#host.outbox.magic);
  }
}
