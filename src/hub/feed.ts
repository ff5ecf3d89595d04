// One session's fan-out in one process: one upstream subscription, a window of recent output, and for each viewer a
// position in it. Viewers do not wait for each other: one that falls out of the window reads the journal or gets RESYNC.
import { Ring } from "../lib/data/ring.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type GitStatusEvent, resizeEvent, type SessionEvent } from "../protocol/frame/event.ts";
import { encodeFrame, encodeOutputFrame, FrameType, type Magic, withMagic } from "../protocol/frame/frame.ts";
import { SubscribeFlag } from "../protocol/frame/payload.ts";
import { encodeResync, type Resync } from "../protocol/frame/resync.ts";
import { FEED_KEEP_BYTES, FEED_WINDOW_BYTES, MAX_REPLAY_BYTES } from "../protocol/limits.ts";
import type { SessionRecord, TerminalSize } from "../protocol/schemas/session.ts";
import type { Delivery, SessionBackend, Subscription } from "../sessions/backend.ts";

/** Memory of an entry besides its bytes. It is counted, so that many small entries stay within the window as well. */
const ENTRY_OVERHEAD_BYTES = 256;
const MAX_RECENT_BYTES = 64 * 1024;
/** The flags that are passed to the upstream. Offsets only concerns a client and its server. */
const UPSTREAM_FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Snapshots | SubscribeFlag.Events;

/** One entry of the window; `end` is the offset after it. */
export type FeedEntry =
  | { readonly kind: "output"; readonly end: number; readonly output: SharedOutput }
  | { readonly kind: "event"; readonly end: number; readonly event: SessionEvent }
  /** The upstream skipped output up to `end`, where the window's output begins anew. */
  | { readonly kind: "gap"; readonly end: number };

/** A new entry, a new snapshot, new counts of the repository, or the end of the feed with the reason `loss`. */
export type FeedChange = "entry" | "snapshot" | "git-status" | "lost";

export type FeedReader = {
  /** Number of the next entry to read; earlier ones may be dropped. */
  readonly next: number;
  onChange(change: FeedChange): void;
};

/** A run of output with the frames that carry it. Each form is made at most once and shared by all viewers. */
export class SharedOutput {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly #sessionId: string;
  readonly #output: { VT: Uint8Array; TV?: Uint8Array };
  readonly #stdout: Partial<Record<Magic, Uint8Array>> = {};

  /** `frame` is the OUTPUT frame with the magic VT. */
  constructor(sessionId: string, piece: { offset: number; bytes: Uint8Array; frame: Uint8Array }) {
    this.#sessionId = sessionId;
    this.offset = piece.offset;
    this.bytes = piece.bytes;
    this.#output = { VT: piece.frame };
  }

  get end(): number {
    return this.offset + this.bytes.length;
  }

  output(magic: Magic): Uint8Array {
    this.#output[magic] ??= withMagic(this.#output.VT, magic);
    return this.#output[magic];
  }

  stdout(magic: Magic): Uint8Array {
    this.#stdout[magic] ??= encodeFrame(FrameType.STDOUT, this.#sessionId, this.bytes, magic);
    return this.#stdout[magic];
  }
}

/** Encodes the output of one session for one client. */
export type OutputEncoder = {
  /** Undefined if the bytes complete no character. `run`: the same bytes with the frames of all clients. */
  output(offset: number, bytes: Uint8Array, run?: SharedOutput): Uint8Array | undefined;
  screen(screen: Resync): Uint8Array;
  /** At the end of the output: the held bytes, although they are no character. */
  rest(): Uint8Array | undefined;
  /** Number of held bytes of an incomplete character. */
  readonly heldBytes: number;
};

export function offsetEncoder(sessionId: string, magic: Magic): OutputEncoder {
  return {
    output: (offset, bytes, run) => run?.output(magic) ?? encodeOutputFrame(sessionId, offset, bytes, magic),
    screen: (screen) => encodeFrame(FrameType.RESYNC, sessionId, encodeResync(screen), magic),
    rest: () => undefined,
    heldBytes: 0,
  };
}

export class Feed implements Disposable {
  readonly sessionId: string;
  /** Whether output before the window can be read from a journal. */
  readonly isRecorded: boolean;
  readonly #entries = new Ring<FeedEntry>();
  /** With the flags that each requests. */
  readonly #readers = new Map<FeedReader, number>();
  #record: SessionRecord;
  #first = 0;
  #bytes = 0;
  /** Offset of the first byte of the feed. */
  readonly #origin: number;
  #start: number;
  #end: number;
  #upstream: Subscription | undefined;
  /** The flags that the upstream delivers; undefined after a failed request. */
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

  /** `flags` are those of the first reader. Throws like `subscribe` of the backend. */
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

  get start(): number {
    return this.#start;
  }

  get isWhole(): boolean {
    return this.#start === this.#origin;
  }

  /** Number of resizes in the window right before the byte at `start`. */
  get sizesAtStart(): number {
    let sizes = 0;
    for (let number = this.find(this.#start); ; number++) {
      const entry = this.entry(number);
      if (entry?.kind !== "event" || entry.end !== this.#start) return sizes;
      if (entry.event.kind === "resize") sizes += 1;
    }
  }

  /** Where output begins for another server: to send a little of the past costs less than a request for it later. */
  get recentStart(): number {
    return this.isRecorded && this.#end - this.#start <= MAX_RECENT_BYTES ? this.#start : this.#end;
  }

  /** Offset after the last byte of output. */
  get end(): number {
    return this.#end;
  }

  /** The record as of the start of the feed, with the current size and status. */
  get record(): SessionRecord {
    return this.#record;
  }

  get gitStatus(): GitStatusEvent | undefined {
    return this.#gitStatus;
  }

  get first(): number {
    return this.#first;
  }

  get after(): number {
    return this.#first + this.#entries.length;
  }

  get last(): FeedEntry | undefined {
    return this.#entries.at(-1);
  }

  get loss(): ServiceError | undefined {
    return this.#loss;
  }

  /** Whether the upstream sends snapshots on request; otherwise they are read with `view`. */
  get hasSnapshots(): boolean {
    return this.#upstream?.request !== undefined;
  }

  get hasSizes(): boolean {
    return !this.hasSnapshots || ((this.#delivered ?? 0) & SubscribeFlag.Events) !== 0;
  }

  /** Sets the current size if the feed receives no resizes; those it receives are newer. */
  sized({ cols, rows }: TerminalSize): void {
    if (!this.hasSizes) this.#record = { ...this.#record, cols, rows };
  }

  get snapshot(): Uint8Array | undefined {
    return this.#snapshot;
  }

  /** The reader has no flags until it calls `want`. */
  follow(reader: FeedReader): Disposable {
    this.#readers.set(reader, 0);
    return {
      [Symbol.dispose]: () => {
        this.#readers.delete(reader);
        // A feed without readers is disposed of as a whole.
        if (this.#readers.size > 0) this.#settle().catch(() => undefined);
      },
    };
  }

  /** Resolves when the upstream delivers what this reader requests. Throws, and keeps the former flags, if it does not answer. */
  async want(reader: FeedReader, flags: number): Promise<void> {
    const before = this.#readers.get(reader);
    // It left while its subscription was opened.
    if (before === undefined) return;
    this.#readers.set(reader, flags & UPSTREAM_FLAGS);
    try {
      await this.#settle();
    } catch (error) {
      if (this.#readers.has(reader)) this.#readers.set(reader, before);
      throw error;
    }
  }

  /** The entry of that number, at least `first`; undefined if it has not arrived yet. */
  entry(number: number): FeedEntry | undefined {
    if (number < this.#first) throw new ServiceError("internal_error", `entry ${number} of the feed is gone`);
    return this.#entries.at(number - this.#first);
  }

  /** Number of the first entry that has or follows the byte at `offset`, which is not before `start`. */
  find(offset: number): number {
    // Most searches are for one of the latest entries.
    let number = this.after;
    while (number > this.#first) {
      const entry = this.#entries.at(number - 1 - this.#first);
      if (entry === undefined || entry.end < offset || (entry.kind !== "event" && entry.end === offset))
        break;
      number -= 1;
    }
    return number;
  }

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
    // A copy, since readers may leave during the calls.
    for (const reader of [...this.#readers.keys()]) if (this.#readers.has(reader)) reader.onChange(change);
  }

  get #wanted(): number {
    return [...this.#readers.values()].reduce((all, flags) => all | flags, 0);
  }

  /** Resolves when the upstream delivers exactly the union of the readers' flags. */
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
    // A snapshot that is kept without updates becomes outdated.
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
    this.#add({ kind: "output", end: output.end, output });
  }

  #event(event: SessionEvent, offset: number): void {
    if (event.kind === "resize") this.#record = { ...this.#record, cols: event.cols, rows: event.rows };
    if (event.kind === "exit") this.#record = { ...this.#record, status: "exited", exitCode: event.exitCode };
    this.#add({ kind: "event", end: offset, event });
  }

  /** Each reader of output checks itself whether its next byte is still held; otherwise it reads the screen. */
  #skip({ offset, size }: Resync): void {
    this.#add({ kind: "gap", end: offset });
    [this.#start, this.#end] = [offset, offset];
    const { cols, rows } = this.#record;
    if (!this.hasSizes) this.sized(size);
    else if (cols !== size.cols || rows !== size.rows) this.#event(resizeEvent(size), offset);
  }

  #add(entry: FeedEntry): void {
    this.#bytes += bytesOf(entry);
    this.#entries.push(entry);
  }

  #trim(): void {
    const needed = this.#neededFrom();
    // Without a journal the window is the history of later viewers.
    const kept = this.isRecorded ? FEED_KEEP_BYTES : MAX_REPLAY_BYTES;
    while (this.#bytes > FEED_WINDOW_BYTES || (this.#bytes > kept && this.#first < needed)) {
      const oldest = this.#entries.shift();
      if (oldest === undefined) return;
      this.#first += 1;
      this.#start = Math.max(this.#start, oldest.end);
      this.#bytes -= bytesOf(oldest);
    }
  }

  #neededFrom(): number {
    let needed = this.after;
    for (const reader of this.#readers.keys()) needed = Math.min(needed, reader.next);
    return needed;
  }
}

/** Memory of an entry. Other servers choose the texts in events. */
function bytesOf(entry: FeedEntry): number {
  if (entry.kind === "output") return ENTRY_OVERHEAD_BYTES + entry.output.bytes.length;
  return ENTRY_OVERHEAD_BYTES + (entry.kind === "event" ? JSON.stringify(entry.event).length : 0);
}
