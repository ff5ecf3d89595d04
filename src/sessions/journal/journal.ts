import { type FileHandle, open } from "node:fs/promises";
import type { SessionFiles } from "../storage/control-dir.ts";
import { eventLine, type Gap, gapEvent, type JournalEvent } from "./event.ts";
import { type Dropped, JournalQueue } from "./queue.ts";

/** What waits for a disk that is slow, in bytes, before the program is held back. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;
const RESUME_BACKLOG_BYTES = 2 * 1024 * 1024;
/** What is held in memory of output that the disk does not take, or is not to take; the oldest is dropped first. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

const NONE = new Uint8Array(0);

export type JournalOptions = {
  readonly files: SessionFiles;
  /** Output bytes, and bytes of records, that are kept; from there on the journal is stopped (contract 3). */
  readonly maxBytes: number;
  /** The disk cannot keep up, and later can again: the only reason for which a program is ever paused. */
  readonly onPressure: (isHigh: boolean) => void;
  /** The disk takes nothing. The session goes on, and somebody is to call `retry` now and then. Told once each time. */
  readonly onFailure: (error: unknown) => void;
  /** What the disk took nothing of is lost, but what came after it is not. */
  readonly onGap: (gap: Gap) => void;
  readonly meter?: JournalMeter | undefined;
};

type OpenFiles = Pick<JournalFiles, "writeOutput" | "writeEvents" | "close">;

/** Told of each batch that reached the disk: how long that took, in ms. */
export type JournalMeter = { readonly now: () => number; readonly wrote: (tookMs: number) => void };

/**
 * The writing end of a session's journal: raw output and a record for each coalesced piece of it. Output is always on
 * disk before its record, so that what a crash leaves behind is cut by arithmetic. Nothing is decoded here.
 *
 * While the disk takes nothing, the last 4 MiB are held. Once it takes something again they are written, after a record
 * of the gap, if there is one. What was begun to be written is gone on with at its very byte: whoever reads the files
 * meanwhile never sees them change.
 */
export class Journal {
  readonly #options: Omit<JournalOptions, "files">;
  readonly #files: OpenFiles;
  readonly #queue = new JournalQueue();
  /** What came after the journal was stopped. */
  readonly #beyond = new JournalQueue();
  readonly #gaps: Gap[] = [];
  /** Lost, and not yet recorded as a gap. */
  #dropped: Dropped | undefined;
  /** Records of what is on disk, on their own way there. */
  #lines: Uint8Array = NONE;
  #outputBytes = 0;
  #eventsBytes = 0;
  #end = 0;
  #onDisk = 0;
  #written = 0;
  /** Records that are on disk, or were dropped. */
  #recorded = 0;
  #stoppedAt: number | undefined;
  #failure: unknown;
  #isHigh = false;
  #isClosing = false;
  #writing: Promise<void> | undefined;
  #progress = Promise.withResolvers<void>();

  constructor(options: Omit<JournalOptions, "files">, files: OpenFiles) {
    this.#options = options;
    this.#files = files;
  }

  static async create({ files, ...options }: JournalOptions): Promise<Journal> {
    return new Journal(options, await JournalFiles.create(files));
  }

  /** Offset after the last byte in the file. */
  get onDisk(): number {
    return this.#onDisk;
  }

  /** What is missing in the file before that. */
  get gaps(): readonly Gap[] {
    return this.#gaps;
  }

  /** Offset of the first byte that is held in memory. */
  get heldFrom(): number {
    return this.#queue.start ?? this.#beyond.start ?? this.#end;
  }

  /** Takes no more output. */
  get isStopped(): boolean {
    return this.#stoppedAt !== undefined;
  }

  /** What the disk said, while it takes nothing. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The bytes from `from` up to `to`, as far as they are held in memory; to be used at once. */
  read(from: number, to: number): Uint8Array[] {
    return [...this.#queue.read(from, to), ...this.#beyond.read(from, to)];
  }

  /** Takes output without copying: `bytes` must not change afterwards. At the size limit the rest is left out. */
  append(bytes: Uint8Array, time: number): void {
    const start = this.#end;
    this.#end += bytes.length;
    if (this.#stoppedAt !== undefined) {
      this.#hold(bytes, time);
      return;
    }
    const room = this.#options.maxBytes - this.#outputBytes - this.#queue.bytes;
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, room);
    const offset = start + kept.length;
    if (kept.length > 0) this.#record({ time, offset, kind: "o" }, kept);
    if (kept.length < bytes.length || this.#isFullOfRecords) this.#stop(offset, time);
    if (kept.length < bytes.length) this.#hold(bytes.subarray(kept.length), time);
    this.#bound();
  }

  /** Adds a record of anything but output; once the journal is stopped only that of the exit. */
  note(event: JournalEvent): void {
    if (this.#stoppedAt === undefined || event.kind === "x") this.#record(event);
    if (this.#stoppedAt === undefined && this.#isFullOfRecords) this.#stop(this.#end, event.time);
    this.#bound();
  }

  /** Resolves when all that was taken so far is on disk, or the disk takes nothing. */
  async flushed(): Promise<void> {
    const { added } = this.#queue;
    while (this.#writing !== undefined && this.#recorded < added) await this.progressed();
  }

  /** The same for the output up to `offset`, or as much of it as is kept, with its records. */
  async flushedTo(offset: number): Promise<void> {
    while (this.#writing !== undefined && this.#written < offset) await this.progressed();
  }

  /** Resolves at the next write that reached the disk, or when the journal is closed. */
  progressed(): Promise<void> {
    return this.#progress.promise;
  }

  /** Tries again what the disk did not take. Rejects with what it says when it still takes no more. */
  async retry(): Promise<void> {
    if (this.#failure === undefined) return;
    this.#writing ??= this.#write();
    while (this.#writing !== undefined && this.#failure !== undefined) await this.progressed();
    if (this.#isClosing) await this.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** While the disk takes nothing: as soon as it has taken the rest. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#idle();
    this.#moved();
    if (this.#failure !== undefined) return;
    await this.#files.close().catch(this.#options.onFailure);
  }

  /** What the disk has not taken is given up. */
  async discard(): Promise<void> {
    await this.#idle();
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#queue.drop(0);
    this.#lines = NONE;
    await this.close();
  }

  /** For when nothing is added any more. */
  async #idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** A program that writes a byte at a time needs more bytes of records than of output. */
  get #isFullOfRecords(): boolean {
    return this.#eventsBytes + this.#lines.length + this.#queue.recordBytes >= this.#options.maxBytes;
  }

  #stop(offset: number, time: number): void {
    this.#stoppedAt = offset;
    this.#record({ time, offset, kind: "m", data: "recording stopped: the size limit is reached" });
  }

  #record(event: JournalEvent, bytes?: Uint8Array): void {
    this.#queue.add(event, bytes);
    if (this.#failure === undefined) this.#writing ??= this.#write();
  }

  /** Not for the disk. */
  #hold(bytes: Uint8Array, time: number): void {
    this.#beyond.add({ time, offset: this.#end, kind: "o" }, bytes);
    this.#beyond.drop(MAX_HELD_BYTES);
  }

  #bound(): void {
    if (this.#writing === undefined && this.#failure !== undefined) {
      this.#dropped = this.#queue.drop(MAX_HELD_BYTES, this.#dropped);
    } else if (!this.#isHigh && this.#queue.cost > MAX_BACKLOG_BYTES) {
      this.#isHigh = true;
      this.#options.onPressure(true);
    }
  }

  async #write(): Promise<void> {
    const { added: waiting } = this.#queue;
    try {
      await this.#writeLines();
      await this.#recordLoss();
      await this.#writeLines();
      const { meter } = this.#options;
      do {
        const begunMs = meter?.now() ?? 0;
        await this.#writeOutput();
        await this.#writeLines();
        // The disk is right again when it has taken what had waited for it, though there be more by then.
        if (this.#recorded >= waiting) this.#failure = undefined;
        meter?.wrote(meter.now() - begunMs);
        this.#relieve();
      } while (!this.#queue.isEmpty);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#writing = undefined;
      this.#moved();
    }
  }

  async #writeLines(): Promise<void> {
    while (this.#lines.length > 0) {
      const count = await this.#files.writeEvents(this.#lines, this.#eventsBytes);
      this.#eventsBytes += count;
      this.#lines = this.#lines.subarray(count);
    }
    this.#written = this.#onDisk;
    this.#recorded = this.#queue.gone;
  }

  async #writeOutput(): Promise<void> {
    const pieces = this.#queue.pieces();
    const start = this.#queue.start ?? this.#onDisk;
    const count = pieces.length === 0 ? 0 : await this.#files.writeOutput(pieces, this.#outputBytes);
    this.#outputBytes += count;
    this.#onDisk = start + count;
    this.#lines = new TextEncoder().encode(this.#queue.take(count));
  }

  /** Before what follows: a crash in between leaves a gap with nothing after it. */
  async #recordLoss(): Promise<void> {
    if (this.#dropped === undefined) return;
    const { gap, size, time } = this.#dropped;
    const offset = gap?.to ?? this.#onDisk;
    const events: JournalEvent[] = gap === undefined ? [] : [gapEvent(gap, time)];
    if (size !== undefined) events.push({ time, offset, kind: "r", data: size });
    const lines = new TextEncoder().encode(events.map(eventLine).join(""));
    const count = events.length === 0 ? 0 : await this.#files.writeEvents(lines, this.#eventsBytes);
    this.#eventsBytes += count;
    this.#lines = lines.subarray(count);
    this.#dropped = undefined;
    if (gap !== undefined) {
      this.#gaps.push(gap);
      this.#onDisk = gap.to;
      this.#options.onGap(gap);
    }
  }

  #relieve(): void {
    if (this.#isHigh && this.#queue.cost < RESUME_BACKLOG_BYTES) this.#release();
    this.#moved();
  }

  #release(): void {
    if (!this.#isHigh) return;
    this.#isHigh = false;
    this.#options.onPressure(false);
  }

  #moved(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers<void>();
  }

  #fail(error: unknown): void {
    const isNews = this.#failure === undefined;
    this.#failure = error;
    this.#dropped = this.#queue.drop(MAX_HELD_BYTES, this.#dropped);
    this.#release();
    if (isNews) this.#options.onFailure(error);
  }
}

/** The two files of a journal, open for writing. What fails is rejected with as the system says it. */
export class JournalFiles {
  readonly #output: FileHandle;
  readonly #events: FileHandle;

  private constructor(output: FileHandle, events: FileHandle) {
    this.#output = output;
    this.#events = events;
  }

  /** Makes both, readable by their owner alone. */
  static async create(files: Pick<SessionFiles, "output" | "events">): Promise<JournalFiles> {
    const output = await open(files.output, "wx", 0o600);
    try {
      return new JournalFiles(output, await open(files.events, "wx", 0o600));
    } catch (error) {
      await output.close();
      throw error;
    }
  }

  /** Returns how many of the bytes the disk took, which is one at least. */
  async writeOutput(pieces: Uint8Array[], position: number): Promise<number> {
    const { bytesWritten } = await this.#output.writev(pieces, position);
    return accepted(bytesWritten);
  }

  /** The same for records. */
  async writeEvents(lines: Uint8Array, position: number): Promise<number> {
    const { bytesWritten } = await this.#events.write(lines, 0, lines.length, position);
    return accepted(bytesWritten);
  }

  async close(): Promise<void> {
    await Promise.all([this.#output.close(), this.#events.close()]);
  }
}

function accepted(bytesWritten: number): number {
  if (bytesWritten === 0) throw Object.assign(new Error("the disk takes no more bytes"), { code: "ENOSPC" });
  return bytesWritten;
}
