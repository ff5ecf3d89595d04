import { open } from "node:fs/promises";
import { allOpened } from "../../lib/fs/atomic-file.ts";
import { isDiskFault } from "../../lib/fs/disk-care.ts";
import { errorMessage } from "../../protocol/errors.ts";
import type { SessionMeter } from "../session-meter.ts";
import type { SessionFiles } from "../storage/control-dir.ts";
import { eventLine, type Gap, gapEvent, type JournalEvent } from "./event.ts";
import { type Dropped, JournalQueue } from "./queue.ts";

/** Unwritten bytes above which the program is paused. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;
const RESUME_BACKLOG_BYTES = 2 * 1024 * 1024;
/** Output in memory that is not on disk; over that the oldest is dropped. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

const NONE = new Uint8Array(0);

export type JournalOptions = {
  /** Maximum of output bytes, and of bytes of records; the journal stops there (contract 3). */
  readonly maxBytes: number;
  /** The disk is behind, or has caught up: the only reason to pause a program. */
  readonly onPressure: (isHigh: boolean) => void;
  /** Writing has failed. The session continues; the owner calls `retry` from time to time. */
  readonly onFailure: (error: unknown) => void;
  /** Output was lost before a successful retry. */
  readonly onGap: (gap: Gap) => void;
  readonly meter: SessionMeter;
};

/**
 * Writes a session's journal: raw output, and a record for each coalesced piece. Output is on disk before its record,
 * so that a recovery is arithmetic. While the disk fails, the last 4 MiB are kept and then written, after a record of
 * the gap if any. Interrupted writes continue at the same byte: readers never see the files change.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #files: JournalFiles;
  readonly #queue = new JournalQueue();
  /** Output after the journal was stopped. */
  readonly #beyond = new JournalQueue();
  readonly #gaps: Gap[] = [];
  /** Lost output that is not recorded as a gap yet. */
  #dropped: Dropped | undefined;
  /** Unwritten records of written output. */
  #lines: Uint8Array = NONE;
  #outputBytes = 0;
  #eventsBytes = 0;
  #end = 0;
  #onDisk = 0;
  #isStopped = false;
  #failure: unknown;
  #isHigh = false;
  #isClosing = false;
  #writing: Promise<void> | undefined;
  #progress = Promise.withResolvers<void>();

  constructor(options: JournalOptions, files: JournalFiles) {
    this.#options = options;
    this.#files = files;
  }

  /** Offset after the last byte in the file. */
  get onDisk(): number {
    return this.#onDisk;
  }

  get gaps(): readonly Gap[] {
    return this.#gaps;
  }

  /** Offset from which all bytes are in memory. */
  get heldFrom(): number {
    const { start, gone } = this.#beyond;
    return (gone > 0 ? start : (this.#queue.start ?? start)) ?? this.#end;
  }

  /** The size limit was reached. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The error of the last write, until a retry succeeds. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The bytes from `from` up to `to` that are in memory; valid until the next call. */
  read(from: number, to: number): Uint8Array[] {
    return [...this.#queue.read(from, to), ...this.#beyond.read(from, to)];
  }

  /** Does not copy: `bytes` must not change afterwards. Drops the rest at the size limit. */
  append(bytes: Uint8Array, time: number): void {
    const room = this.#isStopped ? 0 : this.#options.maxBytes - this.#outputBytes - this.#queue.bytes;
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, room);
    this.#end += kept.length;
    if (kept.length > 0) this.#record({ time, offset: this.#end, kind: "o" }, kept);
    if (kept.length < bytes.length || this.#isFullOfRecords) this.#stop(time);
    if (kept.length < bytes.length) this.#hold(bytes.subarray(kept.length), time);
    this.#bound();
  }

  /** Adds a record without output; a stopped journal accepts only the exit. */
  note(event: JournalEvent): void {
    if (!this.#isStopped || event.kind === "x") this.#record(event);
    if (this.#isFullOfRecords) this.#stop(event.time);
    this.#bound();
  }

  /** Resolves when everything up to now is on disk, or writing has failed. */
  async flushed(): Promise<void> {
    const { added } = this.#queue;
    const isFlushed = (): boolean => this.#lines.length === 0 && this.#queue.gone >= added;
    while (this.#writing !== undefined && !isFlushed()) await this.progressed();
  }

  /** Resolves after the next write, or when the journal is closed. */
  progressed(): Promise<void> {
    return this.#progress.promise;
  }

  /** Repeats the failed write. Rejects with its error. */
  async retry(): Promise<void> {
    if (this.#failure === undefined) return;
    this.#writing ??= this.#write();
    while (this.#writing !== undefined && this.#failure !== undefined) await this.progressed();
    if (this.#isClosing) await this.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** After a failure: closes once a retry has succeeded. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#idle();
    this.#moved();
    if (this.#failure !== undefined) return;
    await this.#files.close().catch(this.#options.onFailure);
  }

  /** Gives unwritten output up. */
  async discard(): Promise<void> {
    await this.#idle();
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#queue.drop(0);
    this.#lines = NONE;
    await this.close();
  }

  async #idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Single bytes of output need more bytes of records than of output. */
  get #isFullOfRecords(): boolean {
    return this.#eventsBytes + this.#lines.length + this.#queue.recordBytes >= this.#options.maxBytes;
  }

  #stop(time: number): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    const data = "recording stopped: the size limit is reached";
    this.#record({ time, offset: this.#end, kind: "m", data });
  }

  #record(event: JournalEvent, bytes?: Uint8Array): void {
    this.#queue.add(event, bytes);
    if (this.#failure === undefined) this.#writing ??= this.#write();
  }

  /** In memory only. */
  #hold(bytes: Uint8Array, time: number): void {
    this.#end += bytes.length;
    this.#beyond.add({ time, offset: this.#end, kind: "o" }, bytes);
    this.#beyond.drop(MAX_HELD_BYTES);
  }

  #bound(): void {
    if (this.#writing === undefined && this.#failure !== undefined) {
      this.#dropped = this.#queue.drop(MAX_HELD_BYTES, this.#dropped);
    } else if (this.#queue.cost > MAX_BACKLOG_BYTES) this.#press(true);
  }

  async #write(): Promise<void> {
    const { added: waiting } = this.#queue;
    try {
      await this.#writeLines();
      await this.#recordLoss();
      await this.#writeLines();
      const { meter } = this.#options;
      do {
        const begunMs = meter.now();
        await this.#writeOutput();
        await this.#writeLines();
        // Recovered once the backlog at the start of the retry is on disk.
        if (this.#queue.gone >= waiting) this.#failure = undefined;
        meter.journalWrites.observe((meter.now() - begunMs) / 1000);
        if (this.#queue.cost < RESUME_BACKLOG_BYTES) this.#press(false);
        this.#moved();
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
  }

  async #writeOutput(): Promise<void> {
    const pieces = this.#queue.pieces();
    const start = this.#queue.start ?? this.#onDisk;
    const count = pieces.length === 0 ? 0 : await this.#files.writeOutput(pieces, this.#outputBytes);
    this.#outputBytes += count;
    this.#onDisk = start + count;
    this.#lines = new TextEncoder().encode(this.#queue.take(count));
  }

  /** Before the output after the gap: a crash in between leaves a gap at the end. */
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
      this.#options.meter.lostBytes += gap.to - gap.from;
      this.#options.onGap(gap);
    }
  }

  #press(isHigh: boolean): void {
    if (isHigh === this.#isHigh) return;
    this.#isHigh = isHigh;
    if (isHigh) this.#options.meter.journalPauses += 1;
    this.#options.onPressure(isHigh);
  }

  #moved(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers<void>();
  }

  #fail(error: unknown): void {
    const isNews = this.#failure === undefined;
    this.#failure = error;
    this.#dropped = this.#queue.drop(MAX_HELD_BYTES, this.#dropped);
    this.#press(false);
    if (!isNews) return;
    this.#options.meter.journalFailures += 1;
    this.#options.onFailure(error);
  }
}

/**
 * The two files of a journal, open for writing. Writes return the number of written bytes, at least 1, and reject only with
 * disk faults (`isDiskFault`).
 */
export type JournalFiles = {
  writeOutput(pieces: Uint8Array[], position: number): Promise<number>;
  writeEvents(lines: Uint8Array, position: number): Promise<number>;
  close(): Promise<void>;
};

export async function createFiles(paths: Pick<SessionFiles, "output" | "events">): Promise<JournalFiles> {
  const files = await allOpened([open(paths.output, "wx", 0o600), open(paths.events, "wx", 0o600)]);
  const [outputFile, eventsFile] = files;
  return {
    writeOutput: async (pieces, position) =>
      accepted((await outputFile.writev(pieces, position).catch(refused)).bytesWritten),
    writeEvents: async (lines, position) =>
      accepted((await eventsFile.write(lines, 0, lines.length, position).catch(refused)).bytesWritten),
    close: async () => void (await Promise.all(files.map((file) => file.close()))),
  };
}

/** Whatever an open file refuses a write with may pass, such as the limit of a file's size, or a network disk's ESTALE. */
function refused(cause: unknown): never {
  if (isDiskFault(cause)) throw cause;
  throw Object.assign(new Error(errorMessage(cause), { cause }), { code: "EIO" });
}

function accepted(bytesWritten: number): number {
  if (bytesWritten === 0) throw Object.assign(new Error("the disk takes no more bytes"), { code: "ENOSPC" });
  return bytesWritten;
}
