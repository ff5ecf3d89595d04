// One viewer's way through one feed. It is pulled: the viewer takes the next frame when its socket has room.
import { collectBytes } from "../lib/collect.ts";
import type { SessionEvent } from "../protocol/event.ts";
import { encodeFrame, FrameType, type Magic } from "../protocol/frame.ts";
import { FEED_WINDOW_BYTES, MAX_BEHIND_BYTES, STALLED_AFTER_MS } from "../protocol/limits.ts";
import { encodeResync, type Subscribe, type Subscribed, SubscribeFlag } from "../protocol/payload.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { CatchUp } from "./catch-up.ts";
import type { Feed, FeedEntry, FeedReader } from "./feed.ts";
import { FrameQueue } from "./frame-queue.ts";
import { headerEvent } from "./header-event.ts";
import { planReplay } from "./replay.ts";
import type { SharedOutput } from "./shared-output.ts";
import { readSnapshot, Snapshots } from "./snapshots.ts";

const MAX_RESYNC_BYTES = 64 * 1024 * 1024;

/** What a subscription needs of the connection that it belongs to. */
export type SubscriptionHost = {
  readonly magic: Magic;
  /** How long the client took nothing lately, in ms. */
  readonly pauseMs: number;
  /** There is something to take. */
  wake(subscription: Subscription): void;
  failed(sessionId: string, error: unknown): void;
  readonly now: () => number;
};

/** `live`: follows the window. `behind`: reads the past. `busy`: something is on its way that comes first. */
type Mode = "live" | "behind" | "busy";

export class Subscription implements FeedReader, AsyncDisposable {
  readonly feed: Feed;
  readonly #backend: SessionBackend;
  readonly #host: SubscriptionHost;
  readonly #following: Disposable;
  readonly #abort = new AbortController();
  readonly #frames: FrameQueue;
  #snapshot: Uint8Array | undefined;
  #snapshots: Snapshots | undefined;
  #flags = 0;
  /** Whether it ever asked for output: from then on `#position` says what it has had. */
  #hasBegun = false;
  /** Counts the ways that were taken: nothing that was started on an earlier one is sent on a later one. */
  #way = 0;
  #mode: Mode = "live";
  #next: number;
  /** Offset of the next byte of output that the client has not had. */
  #position: number;
  /** It asked for the past, or was just redrawn: it may be far behind without having fallen there. */
  #isResuming = false;
  #catchUp: CatchUp | undefined;

  constructor(options: { feed: Feed; backend: SessionBackend; host: SubscriptionHost }) {
    this.feed = options.feed;
    this.#backend = options.backend;
    this.#host = options.host;
    this.#frames = new FrameQueue(this.feed.sessionId, () => this.#host.magic);
    this.#next = this.feed.after;
    this.#position = this.feed.end;
    this.#following = this.feed.follow(this);
  }

  get next(): number {
    return this.#mode === "live" ? this.#next : Number.POSITIVE_INFINITY;
  }

  get flags(): number {
    return this.#flags;
  }

  /** A SUBSCRIBE, the first or a further one: output that the client has had is not repeated (contract 1.7). */
  apply(request: Subscribe): void {
    const hadOutput = this.#has(SubscribeFlag.Stdout);
    this.#flags = request.flags;
    const wantsOutput = this.#has(SubscribeFlag.Stdout);
    if (!wantsOutput) this.#goSilent();
    else if (request.from !== undefined || !this.#hasBegun) this.#seek(request);
    else if (!hadOutput) this.#goTo(this.#position);
    if (this.#hasOffsets) this.#frames.json(FrameType.SUBSCRIBED, this.#subscribed());
    this.#applySnapshots(request);
    this.#host.wake(this);
  }

  onEntry(): void {
    this.#snapshots?.changed();
    this.#host.wake(this);
  }

  /** The next frame for the client; undefined when there is none now: `wake` follows when there is. */
  take(): Uint8Array | undefined {
    for (;;) {
      const queued = this.#frames.take() ?? this.#takeSnapshot();
      if (queued !== undefined) return queued;
      if (this.#mode === "busy") return undefined;
      if (this.#mode === "behind") {
        this.#approach();
        continue;
      }
      if (this.#next < this.feed.first) {
        this.#fellBehind();
        continue;
      }
      const entry = this.feed.entry(this.#next);
      if (entry === undefined) return undefined;
      this.#next += 1;
      this.#isResuming = false;
      this.#emit(entry);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    this.#following[Symbol.dispose]();
    this.#snapshots?.[Symbol.dispose]();
    await this.#catchUp?.[Symbol.asyncDispose]();
  }

  #subscribed(): Subscribed {
    const { cols, rows, status } = this.feed.record;
    const offset = this.#has(SubscribeFlag.Stdout) ? this.#position : this.feed.end;
    return { flags: this.#flags, offset, cols, rows, status };
  }

  #has(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  get #hasOffsets(): boolean {
    return this.#has(SubscribeFlag.Offsets);
  }

  #applySnapshots(request: Subscribe): void {
    this.#snapshots?.[Symbol.dispose]();
    this.#snapshots = undefined;
    if (!this.#has(SubscribeFlag.Snapshots)) return;
    this.#snapshots = new Snapshots({
      ...request,
      now: this.#host.now,
      read: () => readSnapshot(this.#backend, this.feed.sessionId, this.#abort.signal),
      offer: (snapshot) => {
        this.#snapshot = snapshot;
        this.#host.wake(this);
      },
    });
  }

  /** Only the newest snapshot waits: an older one is of no use to anybody. */
  #takeSnapshot(): Uint8Array | undefined {
    const snapshot = this.#snapshot;
    this.#snapshot = undefined;
    if (snapshot === undefined) return undefined;
    return encodeFrame(FrameType.SNAPSHOT_VT, this.feed.sessionId, snapshot, this.#host.magic);
  }

  #seek(request: Subscribe): void {
    this.#hasBegun = true;
    const end = this.feed.end;
    if (request.from === undefined && !this.#hasOffsets) {
      this.#replay(end);
      return;
    }
    const from = request.from === "live" ? end : (request.from ?? 0);
    this.#goTo(Math.min(from, end));
    // Who names a byte gets everything from that byte on, as long as it is held.
    this.#isResuming = request.from !== undefined;
  }

  /** Output goes on at `offset`. */
  #goTo(offset: number): void {
    this.#position = offset;
    this.#mode = "behind";
    this.#way += 1;
    const old = this.#catchUp;
    this.#catchUp = undefined;
    void old?.[Symbol.asyncDispose]();
  }

  /** No output from here on: events alone, beginning with the exit if there was one. */
  #goSilent(): void {
    this.#goTo(this.#position);
    this.#mode = "live";
    this.#next = this.#exitEntry();
  }

  /** One step of the way to the window: joins it, or starts to read what lies before it, or to draw the screen. */
  #approach(): void {
    if (this.#position >= this.feed.start) {
      this.#next = this.feed.find(this.#position);
      this.#mode = "live";
      return;
    }
    const lag = this.feed.end - this.#position;
    const isStalled = lag > FEED_WINDOW_BYTES && this.#host.pauseMs > STALLED_AFTER_MS;
    if (!this.#isResuming && (isStalled || lag > MAX_BEHIND_BYTES)) this.#redraw();
    else this.#read();
  }

  #fellBehind(): void {
    if (this.#has(SubscribeFlag.Stdout)) this.#goTo(this.#position);
    else this.#next = this.feed.first;
  }

  /** Does something that takes a while; until then the client gets nothing of this session. */
  #work<T>(ask: () => Promise<T>, answer: (result: T) => void): void {
    this.#mode = "busy";
    const way = this.#way;
    const settle = (settled: () => void): void => {
      if (way !== this.#way || this.#abort.signal.aborted) return;
      settled();
      this.#host.wake(this);
    };
    ask().then(
      (result) => settle(() => answer(result)),
      (error: unknown) => settle(() => this.#giveUp(error)),
    );
  }

  #giveUp(error: unknown): void {
    this.#goTo(this.feed.end);
    this.#isResuming = true;
    this.#host.failed(this.feed.sessionId, error);
  }

  #read(): void {
    this.#catchUp ??= new CatchUp(this.#backend, this.feed.sessionId);
    const catchUp = this.#catchUp;
    this.#work(
      () => catchUp.read(this.#position, this.feed.start),
      (bytes) => {
        if (bytes === undefined) return this.#redraw();
        this.#mode = "behind";
        this.#pushOutput(bytes);
      },
    );
  }

  #redraw(): void {
    const { signal } = this.#abort;
    this.#work(
      async () => {
        const content = await this.#backend.view(this.feed.sessionId, { kind: "resync" }, signal);
        return collectBytes(content.body, MAX_RESYNC_BYTES);
      },
      (payload) => this.#pushResync(payload),
    );
  }

  #replay(end: number): void {
    this.#work(
      () => planReplay(this.#backend, this.feed.sessionId, end, this.#abort.signal),
      (replay) => {
        if (this.#has(SubscribeFlag.Events))
          this.#frames.json(FrameType.EVENT, headerEvent(this.feed.record));
        if (replay.kind === "screen") return this.#redraw();
        if (replay.prefix.length > 0) this.#frames.output(replay.offset, replay.prefix, false);
        this.#goTo(replay.offset);
        this.#isResuming = true;
      },
    );
  }

  #pushResync(payload: Uint8Array): void {
    this.#goTo(this.#frames.resync(payload, this.#hasOffsets));
    this.#isResuming = true;
  }

  #emit(entry: FeedEntry): void {
    if (entry.kind === "event") this.#emitEvent(entry.event);
    else if (!this.#has(SubscribeFlag.Stdout)) return;
    else if (entry.kind === "resync") this.#pushResync(encodeResync(entry.resync));
    else if (entry.end > this.#position) this.#emitOutput(entry.output);
  }

  #emitOutput(output: SharedOutput): void {
    const had = this.#position - output.offset;
    if (had > 0) this.#pushOutput(output.bytes.subarray(had));
    else this.#frames.shared(output, this.#hasOffsets);
    this.#position = output.end;
  }

  #pushOutput(bytes: Uint8Array): void {
    this.#frames.output(this.#position, bytes, this.#hasOffsets);
    this.#position += bytes.length;
  }

  #emitEvent(event: SessionEvent): void {
    if (event.kind === "exit") this.#frames.finish();
    const isOurs = event.kind === "title" || event.kind === "marker";
    const isWanted = this.#has(SubscribeFlag.Events) && (!isOurs || this.#hasOffsets);
    if (event.kind === "exit" || isWanted) this.#frames.json(FrameType.EVENT, event);
  }

  /** Where one that wants no output begins: at the exit if there was one, else at what comes next. */
  #exitEntry(): number {
    const last = this.feed.last;
    return last?.kind === "event" && last.event.kind === "exit" ? this.feed.after - 1 : this.feed.after;
  }
}
