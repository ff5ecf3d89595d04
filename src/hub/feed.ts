// One session's fan-out in one process: one upstream subscription, a window of what came recently, and for each viewer
// a position in it. Nobody waits for anybody: a viewer that falls out of the window reads the journal or gets RESYNC.
import { Ring } from "../lib/data/ring.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type GitStatusEvent, resizeEvent, type SessionEvent } from "../protocol/frame/event.ts";
import { encodeFrame, FrameType, type Magic, withMagic } from "../protocol/frame/frame.ts";
import { type Resync, SubscribeFlag } from "../protocol/frame/payload.ts";
import { FEED_KEEP_BYTES, FEED_WINDOW_BYTES, MAX_REPLAY_BYTES } from "../protocol/limits.ts";
import type { SessionRecord, TerminalSize } from "../protocol/schemas/session.ts";
import type { Delivery, SessionBackend, Subscription } from "../sessions/backend.ts";

/** What a small entry costs beside its bytes; counted, so that many of them stay within the window too. */
const ENTRY_OVERHEAD_BYTES = 256;
/** What can be asked of the upstream; Offsets is between each client and its server. */
const UPSTREAM_FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Snapshots | SubscribeFlag.Events;

/** One entry of the window; `end` is the offset after it. */
export type FeedEntry =
  | { readonly kind: "output"; readonly end: number; readonly output: SharedOutput }
  | { readonly kind: "event"; readonly end: number; readonly event: SessionEvent }
  /** The upstream skipped output up to `end`, where the window's output begins anew. */
  | { readonly kind: "gap"; readonly end: number };

/** A new entry, a new snapshot, other counts of the repository, or the end of the feed, of which `loss` is the reason. */
export type FeedChange = "entry" | "snapshot" | "git-status" | "lost";

/** A reader of the feed. */
export type FeedReader = {
  /** Number of the entry that it wants next; entries before it may be dropped. */
  readonly next: number;
  onChange(change: FeedChange): void;
};

/** A run of output with the frames that carry it. Each form is made at most once and shared by all viewers. */
export class SharedOutput {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly #sessionId: string;
  readonly #outputVT: Uint8Array;
  #outputTV: Uint8Array | undefined;
  #stdoutVT: Uint8Array | undefined;
  #stdoutTV: Uint8Array | undefined;

  /** `frame` is the OUTPUT frame with the magic VT. */
  constructor(sessionId: string, piece: { offset: number; bytes: Uint8Array; frame: Uint8Array }) {
    this.#sessionId = sessionId;
    this.offset = piece.offset;
    this.bytes = piece.bytes;
    this.#outputVT = piece.frame;
  }

  get end(): number {
    return this.offset + this.bytes.length;
  }

  output(magic: Magic): Uint8Array {
    if (magic === "VT") return this.#outputVT;
    this.#outputTV ??= withMagic(this.#outputVT, magic);
    return this.#outputTV;
  }

  stdout(magic: Magic): Uint8Array {
    if (magic === "VT") {
      this.#stdoutVT ??= encodeFrame(FrameType.STDOUT, this.#sessionId, this.bytes, magic);
      return this.#stdoutVT;
    }
    this.#stdoutTV ??= encodeFrame(FrameType.STDOUT, this.#sessionId, this.bytes, magic);
    return this.#stdoutTV;
  }
}

export class Feed implements Disposable {
  readonly sessionId: string;
  /** Whether output before the window can be read; else the window is all there is. */
  readonly isRecorded: boolean;
  readonly #entries = new Ring<FeedEntry>();
  /** With the flags that each wants. */
  readonly #readers = new Map<FeedReader, number>();
  #record: SessionRecord;
  #first = 0;
  #bytes = 0;
  /** Where it began. */
  readonly #origin: number;
  #start: number;
  #end: number;
  #upstream: Subscription | undefined;
  /** What the upstream delivers; undefined when it was asked for something and did not answer. */
  #delivered: number | undefined;
  /** One request at a time. */
  #asking: Promise<void> | undefined;
  #snapshot: Uint8Array | undefined;
  #loss: ServiceError | undefined;
  #gitStatus: GitStatusEvent | undefined;

  private constructor(sessionId: string, subscription: Subscription, flags: number) {
    this.sessionId = sessionId;
    this.#delivered = flags & UPSTREAM_FLAGS;
    this.#record = subscription.record;
    this.#origin = subscription.offset;
    this.#start = subscription.offset;
    this.isRecorded = subscription.isUnrecorded !== true;
    this.#end = subscription.offset;
    this.#upstream = subscription;
  }

  /** `flags`: what its first reader wants. Throws what `subscribe` of the backend throws. */
  static async open(backend: SessionBackend, sessionId: string, flags: number): Promise<Feed> {
    const early: Delivery[] = [];
    let deliver = (delivery: Delivery): void => void early.push(delivery);
    const sink = (delivery: Delivery): void => deliver(delivery);
    const upstream = await backend.subscribe(sessionId, sink, flags & UPSTREAM_FLAGS);
    const feed = new Feed(sessionId, upstream, flags);
    deliver = (delivery) => feed.#receive(delivery);
    for (const delivery of early) feed.#receive(delivery);
    return feed;
  }

  /** Offset of the byte from which on the window has all output. */
  get start(): number {
    return this.#start;
  }

  /** Whether the window has all that came since it began. */
  get isWhole(): boolean {
    return this.#start === this.#origin;
  }

  /** How many resizes in the window come right before the byte at `start`. */
  get sizesAtStart(): number {
    let sizes = 0;
    for (let number = this.find(this.#start); ; number++) {
      const entry = this.entry(number);
      if (entry?.kind !== "event" || entry.end !== this.#start) return sizes;
      if (entry.event.kind === "resize") sizes += 1;
    }
  }

  /** Offset after the last byte of output. */
  get end(): number {
    return this.#end;
  }

  /** The session as it was when the feed was opened, with the size and state of now. */
  get record(): SessionRecord {
    return this.#record;
  }

  /** Of the repository that the session is in, as far as it is known. */
  get gitStatus(): GitStatusEvent | undefined {
    return this.#gitStatus;
  }

  /** Number of the first entry in the window. */
  get first(): number {
    return this.#first;
  }

  /** Number of the entry that will come next. */
  get after(): number {
    return this.#first + this.#entries.length;
  }

  /** The newest entry. */
  get last(): FeedEntry | undefined {
    return this.#entries.at(-1);
  }

  /** Why nothing comes any more. */
  get loss(): ServiceError | undefined {
    return this.#loss;
  }

  /** Whether the upstream sends snapshots to whom they are wanted by; else they are read with `view`. */
  get hasSnapshots(): boolean {
    return this.#upstream?.request !== undefined;
  }

  /** Whether it hears of resizes. */
  get hasSizes(): boolean {
    return !this.hasSnapshots || ((this.#delivered ?? 0) & SubscribeFlag.Events) !== 0;
  }

  /** The size of now, where it hears of none. */
  sized({ cols, rows }: TerminalSize): void {
    this.#record = { ...this.#record, cols, rows };
  }

  /** The newest one. */
  get snapshot(): Uint8Array | undefined {
    return this.#snapshot;
  }

  /** The reader wants nothing until it says so. */
  follow(reader: FeedReader): Disposable {
    this.#readers.set(reader, 0);
    return {
      [Symbol.dispose]: () => {
        this.#readers.delete(reader);
        // Without readers the whole feed is given up.
        if (this.#readers.size > 0) this.#settle().catch(() => undefined);
      },
    };
  }

  /** Resolves when what this reader wants is delivered. Throws where the upstream does not answer; then it wants what it did before. */
  async want(reader: FeedReader, flags: number): Promise<void> {
    const before = this.#readers.get(reader) ?? 0;
    this.#readers.set(reader, flags & UPSTREAM_FLAGS);
    try {
      await this.#settle();
    } catch (error) {
      if (this.#readers.has(reader)) this.#readers.set(reader, before);
      throw error;
    }
  }

  /** The entry of that number; undefined when it is still to come. It must not be before `first`. */
  entry(number: number): FeedEntry | undefined {
    if (number < this.#first) throw new ServiceError("internal_error", `entry ${number} of the feed is gone`);
    return this.#entries.at(number - this.#first);
  }

  /** Number of the first entry that has or follows the byte at `offset`, which is not before `start`. */
  find(offset: number): number {
    // The newest entries are the likely ones.
    let number = this.after;
    while (number > this.#first) {
      const entry = this.#entries.at(number - 1 - this.#first);
      if (entry === undefined || entry.end < offset || (entry.kind !== "event" && entry.end === offset))
        break;
      number -= 1;
    }
    return number;
  }

  /** Nothing comes any more, and its readers are told why. */
  lose(error: ServiceError): void {
    if (this.#loss !== undefined) return;
    this.#loss = error;
    this[Symbol.dispose]();
    this.#tell("lost");
  }

  [Symbol.dispose](): void {
    this.#upstream?.[Symbol.dispose]();
    this.#upstream = undefined;
  }

  #receive(delivery: Delivery): void {
    if (delivery.kind === "lost") {
      this.lose(delivery.error);
      return;
    }
    if (delivery.kind === "snapshot") {
      this.#snapshot = delivery.payload;
      this.#tell("snapshot");
      return;
    }
    if (delivery.kind === "event" && delivery.event.kind === "git-status") {
      this.#gitStatus = delivery.event;
      this.#tell("git-status");
      return;
    }
    if (delivery.kind === "resync") this.#skip(delivery);
    else if (delivery.kind === "output") this.#output(new SharedOutput(this.sessionId, delivery));
    else this.#event(delivery.event, delivery.offset);
    this.#trim();
    this.#tell("entry");
  }

  #tell(change: FeedChange): void {
    // A copy: a reader may leave, or another one, while it is being told.
    for (const reader of [...this.#readers.keys()]) if (this.#readers.has(reader)) reader.onChange(change);
  }

  /** What the readers want together. */
  get #wanted(): number {
    return [...this.#readers.values()].reduce((all, flags) => all | flags, 0);
  }

  /** Resolves when the upstream delivers what the readers want together and no more. */
  async #settle(): Promise<void> {
    for (;;) {
      const request = this.#upstream?.request;
      if (request === undefined) return;
      if (this.#asking === undefined && this.#wanted === this.#delivered) return;
      this.#asking ??= this.#ask(request, this.#wanted);
      await this.#asking;
    }
  }

  async #ask(request: NonNullable<Subscription["request"]>, flags: number): Promise<void> {
    // One that is kept for later is not the screen of then.
    if ((flags & SubscribeFlag.Snapshots) === 0) this.#snapshot = undefined;
    try {
      await request(flags);
      this.#delivered = flags;
    } catch (error) {
      this.#delivered = undefined;
      throw error;
    } finally {
      this.#asking = undefined;
    }
  }

  #output(output: SharedOutput): void {
    this.#end = output.end;
    this.#bytes += output.bytes.length + ENTRY_OVERHEAD_BYTES;
    this.#entries.push({ kind: "output", end: output.end, output });
  }

  #event(event: SessionEvent, offset: number): void {
    if (event.kind === "resize") this.#record = { ...this.#record, cols: event.cols, rows: event.rows };
    if (event.kind === "exit") this.#record = { ...this.#record, status: "exited", exitCode: event.exitCode };
    this.#bytes += ENTRY_OVERHEAD_BYTES;
    this.#entries.push({ kind: "event", end: offset, event });
  }

  /** Each reader of output finds out for itself whether what it needs is still held, or has the screen drawn. */
  #skip({ offset, size }: Resync): void {
    this.#bytes += ENTRY_OVERHEAD_BYTES;
    this.#entries.push({ kind: "gap", end: offset });
    [this.#start, this.#end] = [offset, offset];
    const { cols, rows } = this.#record;
    if (!this.hasSizes) this.sized(size);
    else if (cols !== size.cols || rows !== size.rows) this.#event(resizeEvent(size), offset);
  }

  #trim(): void {
    const needed = this.#neededFrom();
    // Where nothing can be read again, the window is what a later viewer gets as its history.
    const kept = this.isRecorded ? FEED_KEEP_BYTES : MAX_REPLAY_BYTES;
    while (this.#bytes > FEED_WINDOW_BYTES || (this.#bytes > kept && this.#first < needed)) {
      const oldest = this.#entries.shift();
      if (oldest === undefined) return;
      this.#first += 1;
      this.#start = Math.max(this.#start, oldest.end);
      this.#bytes -= oldest.kind === "output" ? oldest.output.bytes.length : 0;
      this.#bytes -= ENTRY_OVERHEAD_BYTES;
    }
  }

  #neededFrom(): number {
    let needed = this.after;
    for (const reader of this.#readers.keys()) needed = Math.min(needed, reader.next);
    return needed;
  }
}
