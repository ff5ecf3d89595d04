import { type FileHandle, open } from "node:fs/promises";
import { ServiceError } from "../protocol/errors.ts";
import type { SessionFiles } from "./control-dir.ts";
import { eventLine, type JournalEvent } from "./journal-event.ts";

/** Bytes that wait for the disk at most before the program is held back. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;
const RESUME_BACKLOG_BYTES = 2 * 1024 * 1024;

export type JournalOptions = {
  readonly files: SessionFiles;
  /** Output bytes, and bytes of records, that are kept; from there on the journal is stopped (contract 3). */
  readonly maxBytes: number;
  /** The disk cannot keep up, and later can again: the only reason for which a program is ever paused. */
  readonly onPressure: (isHigh: boolean) => void;
  /** The disk failed; the session goes on without its journal. */
  readonly onFailure: (error: unknown) => void;
};

/**
 * The writing end of a session's journal: raw output and a record for each coalesced piece of it. Output is always on
 * disk before its record, so that what a crash leaves behind is cut by arithmetic. Nothing is decoded here.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #output: FileHandle;
  readonly #events: FileHandle;
  #pending: Uint8Array[] = [];
  #pendingLines = "";
  #backlogBytes = 0;
  #isHigh = false;
  #accepted = 0;
  #written = 0;
  #eventsWritten = 0;
  #eventsAccepted = 0;
  #recordBytes = 0;
  #stoppedAt: number | undefined;
  #writing: Promise<void> | undefined;
  #progress = Promise.withResolvers<void>();

  private constructor(options: JournalOptions, output: FileHandle, events: FileHandle) {
    this.#options = options;
    this.#output = output;
    this.#events = events;
  }

  /** Makes both files, readable by their owner alone. */
  static async create(options: JournalOptions): Promise<Journal> {
    const output = await open(options.files.output, "wx", 0o600);
    try {
      return new Journal(options, output, await open(options.files.events, "wx", 0o600));
    } catch (error) {
      await output.close();
      throw error;
    }
  }

  /** Output bytes that are on disk and described by an event there. */
  get written(): number {
    return this.#written;
  }

  /** Output bytes that are or will be on disk. */
  get held(): number {
    return this.#stoppedAt ?? this.#accepted;
  }

  get isStopped(): boolean {
    return this.#stoppedAt !== undefined;
  }

  /** Takes output without copying: `bytes` must not change afterwards. At the size limit the rest is left out. */
  append(bytes: Uint8Array, time: number): void {
    if (this.#stoppedAt !== undefined) return;
    const room = this.#options.maxBytes - this.#accepted;
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, room);
    this.#accepted += kept.length;
    if (kept.length > 0) {
      this.#pending.push(kept);
      this.#backlogBytes += kept.length;
      this.#record({ time, offset: this.#accepted, kind: "o" });
    }
    if (kept.length < bytes.length || this.#isFullOfRecords) this.#stop(time);
    if (!this.#isHigh && this.#backlogBytes > MAX_BACKLOG_BYTES) {
      this.#isHigh = true;
      this.#options.onPressure(true);
    }
  }

  /** Adds a record of anything but output; once the journal is stopped only that of the exit. */
  note(event: JournalEvent): void {
    if (this.#stoppedAt === undefined || event.kind === "x") this.#record(event);
    if (this.#stoppedAt === undefined && this.#isFullOfRecords) this.#stop(event.time);
  }

  /** Resolves when all that was taken so far is on disk, or is known never to be. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Resolves when the output up to `offset`, or as much of it as is kept, can be read from the file. */
  async flushedTo(offset: number): Promise<void> {
    while (this.#written < Math.min(offset, this.held)) await this.progressed();
  }

  /** Resolves at the next write that reached the disk, or when the journal is closed. */
  progressed(): Promise<void> {
    return this.#progress.promise;
  }

  async close(): Promise<void> {
    await this.flushed();
    await Promise.all([this.#output.close(), this.#events.close()]).catch(this.#options.onFailure);
    this.#progress.resolve();
  }

  /** A program that writes a byte at a time needs more bytes of records than of output. */
  get #isFullOfRecords(): boolean {
    return this.#recordBytes >= this.#options.maxBytes;
  }

  #stop(time: number): void {
    this.#stoppedAt = this.#accepted;
    const data = "recording stopped: the size limit is reached";
    this.#record({ time, offset: this.#accepted, kind: "m", data });
  }

  #record(event: JournalEvent): void {
    const line = eventLine(event);
    this.#recordBytes += line.length;
    this.#pendingLines += line;
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    try {
      while (this.#pendingLines !== "") {
        const [pieces, lines] = [this.#pending, this.#pendingLines];
        [this.#pending, this.#pendingLines] = [[], ""];
        const bytes = await writeAll(this.#output, pieces, this.#eventsAccepted);
        this.#eventsAccepted += bytes;
        const record = new TextEncoder().encode(lines);
        await writeAll(this.#events, [record], this.#eventsWritten);
        this.#eventsWritten += record.length;
        this.#written = this.#eventsAccepted;
        this.#relieve(bytes);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#writing = undefined;
      this.#moved();
    }
  }

  #relieve(bytes: number): void {
    this.#backlogBytes -= bytes;
    if (this.#isHigh && this.#backlogBytes < RESUME_BACKLOG_BYTES) {
      this.#isHigh = false;
      this.#options.onPressure(false);
    }
    this.#moved();
  }

  #moved(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers<void>();
  }

  #fail(error: unknown): void {
    this.#stoppedAt = this.#written;
    [this.#pending, this.#pendingLines, this.#backlogBytes] = [[], "", 0];
    if (this.#isHigh) {
      this.#isHigh = false;
      this.#options.onPressure(false);
    }
    this.#options.onFailure(error);
  }
}

/** Writes all pieces at `position` and returns how many bytes that were; a write may take less than it was given. */
async function writeAll(file: FileHandle, pieces: readonly Uint8Array[], position: number): Promise<number> {
  let rest = [...pieces];
  let done = 0;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, position + done);
    if (bytesWritten === 0) throw new ServiceError("internal_error", "the disk takes no more bytes");
    done += bytesWritten;
    rest = dropBytes(rest, bytesWritten);
  }
  return done;
}

function dropBytes(pieces: readonly Uint8Array[], count: number): Uint8Array[] {
  const rest = [...pieces];
  for (let left = count; left > 0; ) {
    const first = rest[0];
    if (first === undefined) break;
    if (first.length > left) {
      rest[0] = first.subarray(left);
      break;
    }
    left -= first.length;
    rest.shift();
  }
  return rest;
}
