// biome-ignore-all lint/style/noExcessiveLinesPerFile: the place in the output and the frames queued from there are one state.
// One client's view of one session: its place in the output, the frames that it gets next, and how far it is behind.
import { setTimeout as pause } from "node:timers/promises";
import { ServiceError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/frame/event.ts";
import { encodeFrame, encodeOutputFrame, FrameType } from "../../protocol/frame/frame.ts";
import { encodeJson, type Subscribe, type Subscribed, SubscribeFlag } from "../../protocol/frame/payload.ts";
import {
  FEED_WINDOW_BYTES,
  MAX_BEHIND_BYTES,
  REREAD_DELAY_MS,
  STALLED_AFTER_MS,
} from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed, FeedChange, FeedEntry, FeedReader, SharedOutput } from "../feed.ts";
import { headerEvent, planReplay } from "../legacy/replay.ts";
import { StdoutEncoder } from "../legacy/stdout-encoder.ts";
import type { FrameSource, Outbox } from "../outbox.ts";
import { History } from "./history.ts";
import { readScreen, type Screen, screenAt, unrecordedScreen } from "./screen.ts";
import { readSnapshot, Snapshots } from "./snapshots.ts";

/** The parts of a connection that its subscriptions use. */
export type SubscriptionHost = {
  readonly outbox: Pick<Outbox, "magic" | "pauseMs" | "ready">;
  /** The client must not learn anything of the session's repository. */
  readonly isRepositoryHidden: boolean;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** A screen was queued in place of output. */
  redrawn(): void;
  failed(sessionId: string, error: unknown): void;
  /** The session is gone. */
  lost(subscription: Subscription, error: ServiceError): void;
};

/** A frame; one of output with the offset of the byte that the client needs after it. */
type Queued = { readonly frame: Uint8Array; readonly next: number | undefined };

/** `live`: follows the feed's window. `behind`: is to read what is before it. `busy`: waits for the journal or a screen. */
type Mode = "live" | "behind" | "busy";

/**
 * The feed reports changes to it, and the outbox takes one frame at a time from it, in turn with the connection's other
 * subscriptions. At most a handful of frames is queued: the next step is taken when the queue is empty.
 */
export class Subscription implements FeedReader, FrameSource, AsyncDisposable {
  readonly feed: Feed;
  readonly #backend: SessionBackend;
  readonly #host: SubscriptionHost;
  readonly #following: Disposable;
  readonly #abort = new AbortController();
  /** Not for this client: output before `to`, and events up to there in entries of the feed below number `before`. */
  readonly #hidden: { readonly to: number; readonly before: number } | undefined;
  readonly #queue: Queued[] = [];
  #flags = 0;
  /** Encodes for a client without offsets. */
  #stdout: StdoutEncoder | undefined;
  /** Offset after the output that was queued so far. */
  #position = 0;
  /** Offset after the output that the client has; undefined when it has none. */
  #taken: number | undefined;
  #mode: Mode = "busy";
  /** Number of the feed's entry that follows, in the window or after the journal was read. */
  #next: number;
  /** Counts the changes of direction: results of work that began before one are dropped. */
  #turn = 0;
  /** Where the history of a client without offsets begins is still to be found out. */
  #isReplaying = false;
  /** The client asked for the past, or was just redrawn: being far behind is no reason to redraw it. */
  #isResuming = false;
  /** The client was told of the exit, which the feed may report again when another client wants more of the session. */
  #hasEnded = false;
  /** The client was told of the failure that is being retried. */
  #hasFailed = false;
  #history: History | undefined;
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
    this.#following = feed.follow(this);
  }

  /** Number of the feed's entry that is wanted next. */
  get next(): number {
    return this.#next;
  }

  /** Output that there is and the client has not been offered, in bytes. */
  get lagBytes(): number {
    return this.#has(SubscribeFlag.Stdout) ? Math.max(0, this.feed.end - this.#position) : 0;
  }

  get hasEvents(): boolean {
    return this.#has(SubscribeFlag.Events);
  }

  /**
   * A SUBSCRIBE, the first or a further one: output that the client has is not repeated (contract 1.7). `known`: bytes
   * of output that are known to exist, which may be more than the feed has. Returns the payload of SUBSCRIBED, to be
   * sent before anything is taken; undefined for a client without offsets.
   */
  apply(request: Subscribe, known: number): Subscribed | undefined {
    this.#flags = request.flags;
    const wantsOutput = this.#has(SubscribeFlag.Stdout);
    const hasOffsets = this.#has(SubscribeFlag.Offsets);
    const isFirst = this.#taken === undefined;
    this.#seek(this.#beginning(request, known), hasOffsets);
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

  /** The next frame for the client; undefined when there is none now: the outbox is told when there is. */
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
      // The exit comes after all that the session showed.
      if (this.#snapshots?.isDue && this.#isAtExit) return undefined;
      if (!this.#step()) return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    this.#following[Symbol.dispose]();
    this.#snapshots?.[Symbol.dispose]();
    await this.#history?.[Symbol.asyncDispose]();
  }

  #has(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  #wake(): void {
    if (!this.#abort.signal.aborted) this.#host.outbox.ready(this);
  }

  /** Where the client's output begins or goes on. */
  #beginning({ from }: Subscribe, known: number): number {
    if (from === "live") return this.feed.end;
    return Math.min(from ?? this.#taken ?? 0, Math.max(this.feed.end, known));
  }

  /**
   * Bytes of an unrecorded session are counted from its feed's subscription: an offset that the client has from before
   * means nothing, and where the output begins that a guest may see is not known.
   */
  #isMissingOutput({ from }: Subscribe): boolean {
    if (this.feed.isRecorded) return false;
    return this.#hidden !== undefined || (typeof from === "number" && from > 0);
  }

  /** Forgets what was not taken: the next output begins at `offset`. */
  #seek(offset: number, hasOffsets: boolean): void {
    this.#queue.length = 0;
    this.#position = offset;
    const { magic } = this.#host.outbox;
    this.#stdout = hasOffsets ? undefined : new StdoutEncoder(this.feed.sessionId, magic);
  }

  #leave(): void {
    this.#mode = "behind";
    this.#next = Number.POSITIVE_INFINITY;
    this.#turn += 1;
    this.#isReplaying = false;
    this.#forgetHistory();
  }

  /** Output goes on at the position. A client that named that byte gets all from there on, as long as it is held. */
  #resume(isResuming: boolean): void {
    this.#isResuming = isResuming;
    this.#hasEnded = false;
    this.#leave();
  }

  /** No output: events alone, beginning with the exit if there was one. */
  #followEvents(): void {
    this.#leave();
    this.#hasEnded = false;
    this.#mode = "live";
    const { last, after } = this.feed;
    this.#next = last?.kind === "event" && last.event.kind === "exit" ? after - 1 : after;
  }

  /** Queues what comes next; false when there is nothing now. */
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

  /** Enters the window, or reads the journal before it, or has the screen drawn. */
  #approach(): void {
    const position = this.#position;
    if (this.#isReplaying) this.#replay();
    else if (this.#hidden !== undefined && position < this.#hidden.to) this.#redraw();
    else if (this.#history === undefined && position >= this.feed.start) {
      this.#next = this.feed.find(position);
      this.#mode = "live";
    } else this.#catchUp(position);
  }

  /** Reads the journal up to the window, or has the screen drawn where that is too far or nothing is recorded. */
  #catchUp(position: number): void {
    const lag = this.feed.end - position;
    const isStalled = lag > FEED_WINDOW_BYTES && this.#host.outbox.pauseMs > STALLED_AFTER_MS;
    const isTooFar = !this.#isResuming && (isStalled || lag > MAX_BEHIND_BYTES);
    if (isTooFar || !this.feed.isRecorded) this.#redraw();
    else this.#read();
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
    this.#hasFailed = false;
    if (!isHidden) this.#emit(entry);
    return true;
  }

  #isHidden(entry: FeedEntry): boolean {
    if (this.#hidden === undefined || entry.kind !== "event" || entry.event.kind === "exit") return false;
    return this.#next < this.#hidden.before && entry.end <= this.#hidden.to;
  }

  #emit(entry: FeedEntry): void {
    const hasOutput = this.#has(SubscribeFlag.Stdout);
    // A screen that was drawn later than where the window stood has it all.
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

  #read(): void {
    this.#history ??= this.#openHistory();
    const history = this.#history;
    this.#work(
      () => history.next(),
      (piece) => {
        this.#mode = "behind";
        if (piece instanceof Uint8Array) this.#pushOwn(piece);
        else if (piece !== undefined) this.#pushEvent(piece);
        else {
          this.#forgetHistory();
          if (!history.hasOutput) this.#redraw(this.#position);
        }
      },
    );
  }

  /** The window from its beginning on is kept meanwhile, so that the stretch leads there. */
  #openHistory(): History {
    this.#next = this.feed.first;
    const { sessionId, start: to, sizesAtStart: sizesAfter } = this.feed;
    const stretch = { from: this.#position, to, hasSizes: this.hasEvents, sizesAfter };
    return new History(this.#backend, sessionId, stretch);
  }

  #forgetHistory(): void {
    // Not waited for: it only gives back what it holds, and cannot fail.
    void this.#history?.[Symbol.asyncDispose]();
    this.#history = undefined;
  }

  /** The history of a client without offsets, then the output (contract 1.7). */
  #replay(): void {
    const { end } = this.feed;
    const hasEvents = this.hasEvents;
    this.#work(
      async () => ({
        plan: await planReplay(this.#backend, this.feed, hasEvents, this.#abort.signal),
        // As this client may see it, which the feed's is not.
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
      () => this.#screen(),
      (drawn) => {
        const { offset } = drawn.resync;
        // Output that died with its host is in the window at most: nobody has the bytes between the screen and that.
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

  async #screen(): Promise<Screen> {
    const { feed } = this;
    if (feed.isRecorded) return await readScreen(feed.sessionId, this.#backend, this.#abort.signal);
    return unrecordedScreen(feed, this.#hidden !== undefined);
  }

  /** Does something that takes a while; until then the client gets nothing of this session. */
  #work<T>(ask: () => Promise<T>, answer: (result: T) => void): void {
    this.#mode = "busy";
    const turn = this.#turn;
    const settle = (settled: () => void): void => {
      if (turn !== this.#turn || this.#abort.signal.aborted) return;
      settled();
      this.#wake();
    };
    ask().then(
      (result) => settle(() => answer(result)),
      (error: unknown) => settle(() => this.#retry(error)),
    );
  }

  /** A failure is reported once, and the work repeated as long as there is a session. */
  #retry(error: unknown): void {
    if (!this.#hasFailed) this.#host.failed(this.feed.sessionId, error);
    this.#hasFailed = true;
    this.#forgetHistory();
    if (error instanceof ServiceError && error.code === "session_not_found") return;
    const { signal } = this.#abort;
    this.#work(
      () => pause(REREAD_DELAY_MS, undefined, { signal, ref: false }),
      () => {
        this.#mode = "behind";
      },
    );
  }

  #applySnapshots(request: Subscribe): void {
    this.#snapshots?.[Symbol.dispose]();
    this.#snapshots = undefined;
    if (!this.#has(SubscribeFlag.Snapshots)) return;
    this.#snapshots = new Snapshots({
      ...request,
      now: this.#host.now,
      read: () => readSnapshot(this.feed, this.#backend, this.#abort.signal),
      onReady: () => this.#wake(),
    });
  }

  /** The newest counts alone: a client that does not keep up misses those between. */
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

  /** Output that all viewers share; bytes that the client has are left out. */
  #pushShared(output: SharedOutput): void {
    const had = this.#position - output.offset;
    if (had > 0) {
      this.#pushOwn(output.bytes.subarray(had));
      return;
    }
    this.#position = output.end;
    const { magic } = this.#host.outbox;
    if (this.#stdout !== undefined) this.#pushOutput(this.#stdout.output(output.bytes, output));
    else this.#pushOutput(output.output(magic));
  }

  /** Output for this client alone. */
  #pushOwn(bytes: Uint8Array): void {
    const offset = this.#position;
    this.#position += bytes.length;
    const { magic } = this.#host.outbox;
    if (this.#stdout !== undefined) this.#pushOutput(this.#stdout.output(bytes));
    else this.#pushOutput(encodeOutputFrame(this.feed.sessionId, offset, bytes, magic));
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
