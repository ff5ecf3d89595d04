// One client's view of one session: its position in the output, the frames that it gets next, and how far it is behind.
import { setTimeout as pause } from "node:timers/promises";
import { ServiceError } from "../../protocol/errors.ts";
import { resizeEvent, type SessionEvent } from "../../protocol/frame/event.ts";
import { encodeFrame, FrameType } from "../../protocol/frame/frame.ts";
import { encodeJson, type Subscribe, type Subscribed, SubscribeFlag } from "../../protocol/frame/payload.ts";
import {
  FEED_WINDOW_BYTES,
  MAX_BEHIND_BYTES,
  REREAD_DELAY_MS,
  STALLED_AFTER_MS,
} from "../../protocol/limits.ts";
import {
  type Feed,
  type FeedChange,
  type FeedEntry,
  type FeedReader,
  type OutputEncoder,
  offsetEncoder,
  type SharedOutput,
} from "../feed.ts";
import { headerEvent, planReplay } from "../legacy/replay.ts";
import { stdoutEncoder } from "../legacy/stdout-encoder.ts";
import type { FrameSource, Outbox } from "../outbox.ts";
import { isUnknownOffset, readHistory, readScreen } from "./history.ts";
import type { HubView } from "./hub-view.ts";
import { readSnapshot, Snapshots } from "./snapshots.ts";

/** The parts of a connection that its subscriptions use. */
export type SubscriptionHost = {
  readonly outbox: Pick<Outbox, "magic" | "pauseMs" | "isStalled" | "ready">;
  readonly view: Pick<HubView, "sessions" | "historyFrom" | "isRepositoryHidden">;
  readonly isUplink: boolean;
  /** Bytes of output that its feed keeps for a subscription while the client does not read. */
  readonly windowBytes: number;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** A screen was queued instead of output. */
  redrawn(): void;
  failed(sessionId: string, error: unknown): void;
  /** The session is gone. Not called before the first SUBSCRIBE is answered, which fails then. */
  lost(subscription: Subscription): void;
};

/** A frame. `next`: after a frame of output, the offset of the byte that the client needs then. */
type Queued = { readonly frame: Uint8Array; readonly next: number | undefined };

/** The next thing that a client behind the live edge gets. `replay`: the history of a client without offsets. */
type Step = "replay" | "screen" | "output";

/** The way to the live edge; each step queues frames. `isBusy`: the next step waits for the journal or a screen. */
type CatchUp = { readonly steps: AsyncGenerator<void>; readonly stop: AbortController; isBusy: boolean };

/**
 * The feed reports changes to the subscription, and the outbox takes one frame at a time from it, in turn with the
 * connection's other subscriptions. At most a handful of frames is queued: the next step begins when the queue is empty.
 */
export class Subscription implements FeedReader, FrameSource, Disposable {
  readonly feed: Feed;
  /** When the client last typed into the session, in milliseconds of `now`. */
  typedAtMs = Number.NEGATIVE_INFINITY;
  readonly #host: SubscriptionHost;
  readonly #following: Disposable;
  /** The client may not see output before `to`, nor events up to there in entries of the feed below number `before`. */
  readonly #hidden: { readonly to: number; readonly before: number } | undefined;
  readonly #queue: Queued[] = [];
  #flags = 0;
  #encoder: OutputEncoder | undefined;
  /** Offset after the output that has been queued. */
  #position = 0;
  /** Offset after the output that the client has received; undefined before any. */
  #taken: number | undefined;
  /** Undefined while the subscription follows the feed's window. */
  #catchUp: CatchUp | undefined;
  /** Number of the feed's entry that comes next, now or once the journal is read. */
  #next: number;
  /** The client asked for old output, or was just redrawn, and is not redrawn for being far behind. */
  #isResuming = false;
  /** The client was told of the exit, which the feed may report again when another client wants more of the session. */
  #hasEnded = false;
  #snapshots: Snapshots | undefined;
  #isStatusDue = false;

  constructor(feed: Feed, host: SubscriptionHost) {
    this.feed = feed;
    this.#host = host;
    const { historyFrom } = host.view;
    const { isRecorded, end, after: before } = feed;
    this.#hidden = historyFrom === undefined ? undefined : { to: isRecorded ? historyFrom : end, before };
    this.#next = feed.after;
    this.#following = feed.follow(this);
  }

  /** Infinite if the feed keeps nothing for the client, which does not read: it will continue in the journal, or miss events. */
  get next(): number {
    if (!this.#host.outbox.isStalled) return this.#next;
    return this.feed.end - this.feed.start > this.#host.windowBytes ? Number.POSITIVE_INFINITY : this.#next;
  }

  /** Bytes of output that were not queued for the client yet. */
  get lagBytes(): number {
    return this.has(SubscribeFlag.Stdout) ? Math.max(0, this.feed.end - this.#position) : 0;
  }

  has(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  get hasEvents(): boolean {
    return this.has(SubscribeFlag.Events);
  }

  /**
   * Applies a SUBSCRIBE, the first or a later one. Output that the client has is not repeated (contract 1.7). `known`: bytes
   * of output that exist, perhaps more than the feed has. Returns the payload of SUBSCRIBED, which must be sent before any
   * frame is taken; undefined for a client without offsets.
   */
  apply(request: Subscribe, known: number): Subscribed | undefined {
    const isNew = this.#flags === 0;
    this.#flags = request.flags;
    const wantsOutput = this.has(SubscribeFlag.Stdout);
    const hasOffsets = this.has(SubscribeFlag.Offsets);
    const isFirst = this.#taken === undefined;
    const isLiveOnly = this.#hidden !== undefined;
    this.#seek(this.#beginning(request, known, isNew), hasOffsets);
    this.#isResuming = wantsOutput && (request.from !== undefined || this.#isResuming);
    this.#hasEnded = false;
    if (!wantsOutput) this.#followEvents();
    else if (isFirst && isUnknownOffset(this.feed, request, { known, isLiveOnly }))
      this.#fallBehind("screen");
    else this.#fallBehind(isFirst && !hasOffsets ? "replay" : "output");
    this.#applySnapshots(request);
    this.#isStatusDue = true;
    if (!hasOffsets) return undefined;
    if (wantsOutput) this.#taken = this.#position;
    const { cols, rows, status } = this.feed.record;
    const offset = wantsOutput ? this.#position : this.feed.end;
    return { flags: this.#flags, offset, cols, rows, status };
  }

  onChange(change: FeedChange): void {
    if (change === "lost" && this.#encoder !== undefined) this.#host.lost(this);
    if (change === "lost") return;
    if (change === "git-status") this.#isStatusDue = true;
    else if (this.feed.record.status === "exited") this.#snapshots?.finish();
    else if (change === "snapshot" || !this.feed.hasSnapshots) this.#snapshots?.changed();
    this.#host.outbox.ready(this);
  }

  /** The next frame for the client; undefined if there is none now. The outbox is told when there is one. */
  take(): Uint8Array | undefined {
    // The feed may report changes before the first SUBSCRIBE is answered.
    if (this.#encoder === undefined) return undefined;
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
      if (this.#catchUp === undefined && this.#next < this.feed.first) this.#missed();
      if (this.#catchUp !== undefined) return void this.#advance(this.#catchUp);
      if (this.#queue.length === 0 && !this.#follow()) return undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
    this.#snapshots?.[Symbol.dispose]();
    this.#stopCatchUp();
  }

  /** The offset at which the client's output begins or continues. */
  #beginning({ from }: Subscribe, known: number, isNew: boolean): number {
    if (from === "live") return isNew && this.#host.isUplink ? this.feed.recentStart : this.feed.end;
    return Math.min(from ?? this.#taken ?? 0, Math.max(this.feed.end, known));
  }

  /** Discards the queue. The next output begins at `offset`. */
  #seek(offset: number, hasOffsets: boolean): void {
    this.#queue.length = 0;
    this.#position = offset;
    const encoder = hasOffsets ? offsetEncoder : stdoutEncoder;
    this.#encoder = encoder(this.feed.sessionId, this.#host.outbox.magic);
  }

  /** Output continues at the position, before the feed's window or in it. */
  #fallBehind(first: Step): void {
    this.#stopCatchUp();
    this.#next = Number.POSITIVE_INFINITY;
    const stop = new AbortController();
    this.#catchUp = { steps: this.#approach(first, stop.signal), stop, isBusy: false };
  }

  #stopCatchUp(): void {
    this.#catchUp?.stop.abort();
    // Need not be awaited: it only releases resources.
    void this.#catchUp?.steps.return(undefined).catch(() => undefined);
    this.#catchUp = undefined;
  }

  #advance(catchUp: CatchUp): void {
    if (catchUp.isBusy) return;
    catchUp.isBusy = true;
    const done = (): void => {
      catchUp.isBusy = false;
      if (!catchUp.stop.signal.aborted) this.#host.outbox.ready(this);
    };
    // A catch-up that failed for good is busy until the next SUBSCRIBE.
    catchUp.steps.next().then(done, () => undefined);
  }

  /** Queues only events, beginning with the exit if there was one. */
  #followEvents(): void {
    this.#stopCatchUp();
    const { last, after } = this.feed;
    this.#next = last?.kind === "event" && last.event.kind === "exit" ? after - 1 : after;
  }

  /** The window has moved past the next entry. Of the missed events only the size is made up for. */
  #missed(): void {
    if (this.has(SubscribeFlag.Stdout)) this.#fallBehind("output");
    else this.#next = this.feed.first;
    if (this.#catchUp === undefined && this.hasEvents) this.#pushEvent(resizeEvent(this.feed.record));
  }

  /** Enters the window, or queues the journal before it, or the screen. Reads are repeated unless the session is gone. */
  async *#approach(first: Step, signal: AbortSignal): AsyncGenerator<void> {
    let hasFailed = false;
    for (let step = first; step !== "output" || !this.#enter(); ) {
      try {
        if (step === "replay") step = await this.#replay(signal);
        else if (step === "screen" || this.#isScreenDue) {
          await this.#redraw(signal);
          step = "output";
        } else yield* this.#read(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!hasFailed) this.#host.failed(this.feed.sessionId, error);
        hasFailed = true;
        if (error instanceof ServiceError && error.code === "session_not_found") throw error;
        await pause(REREAD_DELAY_MS, undefined, { signal, ref: false });
      }
      yield;
    }
  }

  /** Follows the feed's window if it has the position. */
  #enter(): boolean {
    if (this.#isBeforeShown || this.#position < this.feed.start) return false;
    this.#next = this.feed.find(this.#position);
    this.#catchUp = undefined;
    return true;
  }

  get #isBeforeShown(): boolean {
    return this.#hidden !== undefined && this.#position < this.#hidden.to;
  }

  /** The client gets the screen instead of the output that it has missed. */
  get #isScreenDue(): boolean {
    const lag = this.feed.end - this.#position;
    const isStalled = lag > FEED_WINDOW_BYTES && this.#host.outbox.pauseMs > STALLED_AFTER_MS;
    const isTooFar = !this.#isResuming && (isStalled || lag > MAX_BEHIND_BYTES);
    return isTooFar || this.#isBeforeShown || !this.feed.isRecorded;
  }

  /** Queues what the next entry of the window has for this client; false without one, and before an exit that waits. */
  #follow(): boolean {
    const entry = this.feed.entry(this.#next);
    if (entry === undefined) return false;
    // The exit follows the last screen.
    if (isExit(entry) && this.#snapshots?.isDue) return false;
    const isHidden = this.#isHidden(entry);
    this.#next += 1;
    this.#isResuming = false;
    if (!isHidden) this.#emit(entry);
    return true;
  }

  #isHidden(entry: FeedEntry): boolean {
    if (this.#hidden === undefined || entry.kind !== "event" || isExit(entry)) return false;
    return this.#next < this.#hidden.before && entry.end <= this.#hidden.to;
  }

  #emit(entry: FeedEntry): void {
    const hasOutput = this.has(SubscribeFlag.Stdout);
    // The screen that the client has includes this entry.
    if (hasOutput && entry.end < this.#position) return;
    if (entry.kind === "event") this.#emitEvent(entry.event);
    else if (!hasOutput || entry.end === this.#position) return;
    else if (entry.kind === "gap") this.#fallBehind("output");
    else this.#pushShared(entry.output);
  }

  #emitEvent(event: SessionEvent): void {
    if (event.kind === "exit" && this.#hasEnded) return;
    this.#hasEnded ||= event.kind === "exit";
    if (event.kind === "exit") this.#pushOutput(this.#encoder?.rest());
    const isOurs = event.kind === "title" || event.kind === "marker";
    const isWanted = this.hasEvents && (!isOurs || this.has(SubscribeFlag.Offsets));
    if (event.kind === "exit" || isWanted) this.#pushEvent(event);
  }

  /** The journal up to the window, which is kept from its beginning meanwhile. */
  async *#read(signal: AbortSignal): AsyncGenerator<void> {
    this.#next = this.feed.first;
    const part = { from: this.#position, hasSizes: this.hasEvents };
    for await (const piece of readHistory(this.#host.view.sessions, this.feed, part, signal)) {
      signal.throwIfAborted();
      if (piece instanceof Uint8Array) this.#pushBytes(piece);
      else this.#pushEvent(piece);
      yield;
      if (this.#isScreenDue) return;
    }
    if (this.#position === part.from) await this.#redraw(signal, true);
  }

  /** The history of a client without offsets (contract 1.7). Returns the step after it. */
  async #replay(signal: AbortSignal): Promise<Step> {
    const { end, sessionId } = this.feed;
    const plan = await planReplay(this.#host.view.sessions, this.feed, this.hasEvents, signal);
    // The record as this client may see it; the feed's is unfiltered.
    const record = this.hasEvents ? await this.#host.view.sessions.get(sessionId) : undefined;
    signal.throwIfAborted();
    this.#seek(plan?.offset ?? end, false);
    if (record !== undefined) this.#pushEvent(headerEvent(record, plan?.size ?? this.feed.record));
    if (plan === undefined) return "screen";
    if (plan.prefix.length > 0) this.#push(this.#encode(FrameType.STDOUT, plan.prefix));
    this.#isResuming = true;
    return "output";
  }

  /** `isCut`: the journal has no output between the position and the window. */
  async #redraw(signal: AbortSignal, isCut = false): Promise<void> {
    const screen = await readScreen(this.feed, this.#host.view.sessions, this.#hidden !== undefined, signal);
    signal.throwIfAborted();
    // After a crash of the host, the bytes between the screen and the window are lost.
    const isBefore = isCut && screen.offset <= this.#position;
    const offset = Math.max(screen.offset, isBefore ? this.feed.start : (this.#hidden?.to ?? 0));
    this.#position = offset;
    this.#pushOutput(this.#encoder?.screen({ ...screen, offset }));
    this.#host.redrawn();
    this.#isResuming = true;
    this.#hasEnded = false;
  }

  #applySnapshots(request: Subscribe): void {
    this.#snapshots?.[Symbol.dispose]();
    const options = {
      ...request,
      now: this.#host.now,
      read: (signal: AbortSignal) => readSnapshot(this.feed, this.#host.view.sessions, signal),
      onReady: () => this.#host.outbox.ready(this),
    };
    this.#snapshots = this.has(SubscribeFlag.Snapshots) ? new Snapshots(options) : undefined;
  }

  /** Only the latest counts: a slow client misses earlier ones. */
  #takeStatus(): Uint8Array | undefined {
    const { gitStatus } = this.feed;
    const isWanted = this.#isStatusDue && this.hasEvents && !this.#host.view.isRepositoryHidden;
    if (!isWanted || gitStatus === undefined) return undefined;
    this.#isStatusDue = false;
    return this.#encode(FrameType.EVENT, encodeJson(gitStatus));
  }

  #pushEvent(event: object): void {
    this.#push(this.#encode(FrameType.EVENT, encodeJson(event)));
  }

  /** Queues the part that the client does not have. */
  #pushShared(output: SharedOutput): void {
    const had = this.#position - output.offset;
    if (had > 0) this.#pushBytes(output.bytes.subarray(had));
    else this.#pushBytes(output.bytes, output);
  }

  /** `run`: the same bytes with the frames of all viewers. */
  #pushBytes(bytes: Uint8Array, run?: SharedOutput): void {
    const offset = this.#position;
    this.#position += bytes.length;
    this.#pushOutput(this.#encoder?.output(offset, bytes, run));
  }

  #pushOutput(frame: Uint8Array | undefined): void {
    if (frame !== undefined) this.#push(frame, this.#position - (this.#encoder?.heldBytes ?? 0));
  }

  #push(frame: Uint8Array, next?: number): void {
    this.#queue.push({ frame, next });
  }

  #encode(type: FrameType, payload: Uint8Array): Uint8Array {
    return encodeFrame(type, this.feed.sessionId, payload, this.#host.outbox.magic);
  }
}

function isExit(entry: FeedEntry): boolean {
  return entry.kind === "event" && entry.event.kind === "exit";
}
