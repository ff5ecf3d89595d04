// One viewer's way through one session's output: along the feed's window, or through the past that lies before it.
import { setTimeout as pause } from "node:timers/promises";
import { collectBytes } from "../../lib/data/collect.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/frame/event.ts";
import { decodeResync, encodeResync, type Resync, SubscribeFlag } from "../../protocol/frame/payload.ts";
import {
  FEED_WINDOW_BYTES,
  MAX_BEHIND_BYTES,
  REREAD_DELAY_MS,
  STALLED_AFTER_MS,
} from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed, FeedEntry } from "../feed.ts";
import { headerEvent } from "../legacy/header-event.ts";
import { planReplay, type Replay } from "../legacy/replay.ts";
import type { FrameQueue } from "./frame-queue.ts";
import { History, type HistoryPiece } from "./history.ts";

const MAX_RESYNC_BYTES = 64 * 1024 * 1024;

/** What a cursor needs of the subscription that it belongs to. */
export type CursorHost = {
  readonly flags: number;
  /** How long the client took nothing lately, in ms. */
  readonly pauseMs: number;
  /** There may be something to take. */
  wake(): void;
  /** A screen was queued in place of output. */
  redrawn(): void;
  failed(error: unknown): void;
};

/** `live`: follows the window. `behind`: reads the past. `busy`: something is on its way that comes first. */
type Mode = "live" | "behind" | "busy";

export class Cursor implements AsyncDisposable {
  readonly #feed: Feed;
  readonly #backend: SessionBackend;
  readonly #frames: FrameQueue;
  readonly #host: CursorHost;
  readonly #abort = new AbortController();
  /**
   * Not for this client: output before `to`, and events up to there in the entries of the feed below number `before`.
   */
  readonly #hidden: { readonly to: number; readonly before: number } | undefined;
  /** Counts the ways that were taken: nothing that was started on an earlier one is sent on a later one. */
  #way = 0;
  /** Nothing is for the client before it was decided what. */
  #mode: Mode = "busy";
  /** The entry of the feed that comes next, or that reading the past will lead to. */
  #next: number;
  /** It asked for the past, or was just redrawn: it may be far behind without having fallen there. */
  #isResuming = false;
  /** Where its history begins is still to be found out. */
  #isReplaying = false;
  /** The client was told the end, of which the feed may hear again when another client wants more of the session. */
  #hasEnded = false;
  /** The client knows that something is in the way. */
  #hasFailed = false;
  #past: History | undefined;

  constructor(options: {
    feed: Feed;
    backend: SessionBackend;
    historyFrom: number | undefined;
    frames: FrameQueue;
    host: CursorHost;
  }) {
    this.#feed = options.feed;
    const { historyFrom: to } = options;
    const { after, end, isRecorded } = this.#feed;
    this.#hidden = to === undefined ? undefined : { to: isRecorded ? to : end, before: after };
    this.#backend = options.backend;
    this.#frames = options.frames;
    this.#host = options.host;
    this.#next = this.#feed.after;
  }

  /** Number of the entry of the feed that is wanted next. */
  get next(): number {
    return this.#next;
  }

  get isResuming(): boolean {
    return this.#isResuming;
  }

  /** What the next step would queue is the exit. */
  get isAtExit(): boolean {
    if (this.#mode !== "live" || this.#next < this.#feed.first) return false;
    const entry = this.#feed.entry(this.#next);
    return entry?.kind === "event" && entry.event.kind === "exit";
  }

  /** Output goes on where the queue of frames stands. Who named that byte gets all from there on, as long as it is held. */
  seek({ isResuming }: { readonly isResuming: boolean }): void {
    this.#isResuming = isResuming;
    this.#hasEnded = false;
    this.#leave();
  }

  /** The history of a client without offsets, then the output (contract 1.7). */
  replay(): void {
    this.#leave();
    this.#hasEnded = false;
    this.#isReplaying = true;
  }

  /** The byte that the client named is none of this feed's: it gets a new beginning. */
  restart(): void {
    this.#leave();
    this.#hasEnded = false;
    this.#redraw();
  }

  /** No output from here on: events alone, beginning with the exit if there was one. */
  silence(): void {
    this.#leave();
    this.#hasEnded = false;
    this.#mode = "live";
    const { last, after } = this.#feed;
    this.#next = last?.kind === "event" && last.event.kind === "exit" ? after - 1 : after;
  }

  /** Queues what comes next; false when there is nothing now: `wake` follows when there is. */
  step(): boolean {
    if (this.#mode === "busy") return false;
    if (this.#mode === "behind") this.#approach();
    else if (this.#next < this.#feed.first) this.#fallBehind();
    else return this.#follow();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#past?.[Symbol.asyncDispose]();
  }

  #has(flag: number): boolean {
    return (this.#host.flags & flag) !== 0;
  }

  #leave(): void {
    this.#mode = "behind";
    this.#next = Number.POSITIVE_INFINITY;
    this.#way += 1;
    this.#isReplaying = false;
    this.#forgetPast();
  }

  #forgetPast(): void {
    // Not waited for: it only gives back what it holds, and cannot fail.
    void this.#past?.[Symbol.asyncDispose]();
    this.#past = undefined;
  }

  /** One step of the way to the window: joins it, or starts to read what lies before it, or to draw the screen. */
  #approach(): void {
    const { position } = this.#frames;
    if (this.#isReplaying) {
      this.#plan();
      return;
    }
    if (this.#hidden !== undefined && position < this.#hidden.to) {
      this.#redraw();
      return;
    }
    if (this.#past === undefined && position >= this.#feed.start) {
      this.#next = this.#feed.find(position);
      this.#mode = "live";
      return;
    }
    const lag = this.#feed.end - position;
    const isStalled = lag > FEED_WINDOW_BYTES && this.#host.pauseMs > STALLED_AFTER_MS;
    const isTooFar = !this.#isResuming && (isStalled || lag > MAX_BEHIND_BYTES);
    if (isTooFar || !this.#feed.isRecorded) this.#redraw();
    else this.#read();
  }

  #plan(): void {
    const { sessionId, end } = this.#feed;
    const hasEvents = this.#has(SubscribeFlag.Events);
    const { signal } = this.#abort;
    this.#work(
      async () => ({
        replay: this.#feed.isRecorded
          ? await planReplay(this.#backend, sessionId, { end, hasSize: hasEvents }, signal)
          : windowReplay(this.#feed),
        // As this client may see it, which the feed's is not.
        record: hasEvents ? await this.#backend.get(sessionId) : undefined,
      }),
      ({ replay, record }) => {
        const isWhole = replay.kind === "bytes";
        this.#frames.seek(isWhole ? replay.offset : end, { hasOffsets: false });
        if (record !== undefined) {
          this.#frames.event(headerEvent(record, (isWhole && replay.size) || this.#feed.record));
        }
        if (!isWhole) return this.#redraw();
        this.#frames.prefix(replay.prefix);
        this.seek({ isResuming: true });
      },
    );
  }

  #fallBehind(): void {
    if (this.#has(SubscribeFlag.Stdout)) this.#leave();
    else this.#next = this.#feed.first;
  }

  #follow(): boolean {
    const entry = this.#feed.entry(this.#next);
    if (entry === undefined) return false;
    const isHidden = this.#isHidden(entry, this.#next);
    this.#next += 1;
    this.#isResuming = false;
    this.#hasFailed = false;
    if (!isHidden) this.#emit(entry);
    return true;
  }

  #isHidden(entry: FeedEntry, number: number): boolean {
    if (this.#hidden === undefined || entry.kind !== "event" || entry.event.kind === "exit") return false;
    return number < this.#hidden.before && entry.end <= this.#hidden.to;
  }

  #emit(entry: FeedEntry): void {
    const hasOutput = this.#has(SubscribeFlag.Stdout);
    // A screen that was drawn later than where the window stood has it all.
    if (hasOutput && entry.end < this.#frames.position) return;
    if (entry.kind === "event") this.#emitEvent(entry.event);
    else if (!hasOutput || entry.end === this.#frames.position) return;
    else if (entry.kind === "gap") this.#leave();
    else this.#frames.shared(entry.output);
  }

  #emitEvent(event: SessionEvent): void {
    if (event.kind === "exit" && this.#hasEnded) return;
    this.#hasEnded ||= event.kind === "exit";
    if (event.kind === "exit") this.#frames.finish();
    const isOurs = event.kind === "title" || event.kind === "marker";
    const isWanted = this.#has(SubscribeFlag.Events) && (!isOurs || this.#has(SubscribeFlag.Offsets));
    if (event.kind === "exit" || isWanted) this.#frames.event(event);
  }

  #read(): void {
    this.#past ??= this.#openPast();
    const past = this.#past;
    this.#work(
      () => past.next(),
      (piece) => this.#passed(past, piece),
    );
  }

  /** The window from its beginning on is kept meanwhile, so that the stretch leads there. */
  #openPast(): History {
    this.#next = this.#feed.first;
    const { sessionId, start, sizesAtStart } = this.#feed;
    return new History(this.#backend, sessionId, {
      ...{ from: this.#frames.position, to: start },
      ...{ hasSizes: this.#has(SubscribeFlag.Events), sizesAfter: sizesAtStart },
    });
  }

  #passed(past: History, piece: HistoryPiece | undefined): void {
    this.#mode = "behind";
    if (piece instanceof Uint8Array) this.#frames.output(piece);
    else if (piece !== undefined) this.#frames.event(piece);
    else {
      this.#forgetPast();
      if (!past.hasOutput) this.#redraw(this.#frames.position);
    }
  }

  /** `emptyFrom`: there was no output to be had from there up to the window. */
  #redraw(emptyFrom?: number): void {
    const { signal } = this.#abort;
    this.#work(
      async () => {
        if (!this.#feed.isRecorded) return movedTo(this.#feed.start, markedScreen(this.#feed));
        const { body } = await this.#backend.view(this.#feed.sessionId, { kind: "resync" }, signal);
        const payload = await collectBytes(body, MAX_RESYNC_BYTES);
        return { payload, screen: readResync(payload) };
      },
      (drawn) => {
        // Output that died with its host is in the window at most: nobody has what lies between the screen and that.
        const isCutOff = emptyFrom !== undefined && drawn.screen.offset <= emptyFrom;
        const least = isCutOff ? this.#feed.start : (this.#hidden?.to ?? 0);
        const { payload, screen } = drawn.screen.offset < least ? movedTo(least, drawn.screen) : drawn;
        this.#frames.resync(payload, screen);
        this.#host.redrawn();
        this.seek({ isResuming: true });
      },
    );
  }

  /** Does something that takes a while; until then the client gets nothing of this session. */
  #work<T>(ask: () => Promise<T>, answer: (result: T) => void): void {
    this.#mode = "busy";
    const way = this.#way;
    const settle = (settled: () => void): void => {
      if (way !== this.#way || this.#abort.signal.aborted) return;
      settled();
      this.#host.wake();
    };
    ask().then(
      (result) => settle(() => answer(result)),
      (error: unknown) => settle(() => this.#giveUp(error)),
    );
  }

  /** What stands in the way is told once, and tried again as long as there is a session. */
  #giveUp(error: unknown): void {
    if (!this.#hasFailed) this.#host.failed(error);
    this.#hasFailed = true;
    this.#forgetPast();
    if (error instanceof ServiceError && error.code === "session_not_found") return;
    const { signal } = this.#abort;
    this.#work(
      () => pause(REREAD_DELAY_MS, undefined, { signal, ref: false }),
      () => {
        this.#mode = "behind";
      },
    );
  }
}

/** Shown where output may be missing of a session whose machine keeps none. */
const LOSS_MARKER = new TextEncoder().encode("\x1b[7m[output before this may be missing]\x1b[0m\r\n");

/** In place of the screen at the beginning of the window, of a session whose machine cannot draw it. */
function markedScreen({ start, record, isWhole }: Feed): Resync {
  const { cols, rows } = record;
  return { offset: start, size: { cols, rows }, bytes: isWhole ? new Uint8Array() : LOSS_MARKER };
}

/** All that there is of a session whose machine keeps no output. */
function windowReplay({ start, isWhole }: Feed): Replay {
  if (!isWhole) return { kind: "screen" };
  return { kind: "bytes", offset: start, prefix: new Uint8Array(), size: undefined };
}

/** The screen as that of a later offset. */
function movedTo(offset: number, drawn: Resync): { readonly payload: Uint8Array; readonly screen: Resync } {
  const screen = { ...drawn, offset };
  return { payload: encodeResync(screen), screen };
}

/** What another machine answers may be anything: that is no fault of the client. */
function readResync(payload: Uint8Array): Resync {
  try {
    return decodeResync(payload);
  } catch (cause) {
    throw new ServiceError("internal_error", "the screen that was asked for is none", { cause });
  }
}
