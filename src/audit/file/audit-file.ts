import { rename } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { withDeadline } from "../../lib/async/deadline.ts";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import type { Log } from "../../log.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";
import type { Audit, AuditEntry } from "../entry.ts";
import { type ChainHead, chainLines, hashOf } from "./chain.ts";
import { auditLine } from "./line.ts";
import { LineFile } from "./line-file.ts";
import { firstSequence, KEPT_FILES, keptFiles, logNames } from "./log-lines.ts";
import { resumeChain } from "./resume.ts";
import type { SealedHead } from "./sealed-head.ts";

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Lines waiting for a slow disk; over that new ones are lost and counted. */
const MAX_WAITING_LINES = 10_000;
const STOP_TIMEOUT_MS = 2_000;
/** Each write syncs the disk and seals the last line: lines that come so soon after one share the next. */
const COLLECT_MS = 50;
/** Approximately what the chain adds to a line. */
const CHAIN_BYTES = 100;

/** Temporary failures, in spite of which a server starts. */
const PASSING = ["ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE"];

type AuditFileOptions = {
  readonly path: string;
  readonly head: SealedHead;
  readonly log: Pick<Log, "warn" | "info" | "error">;
  /** Gets each line as written, and lost lines without a sequence number. Must not throw. */
  readonly ship?: (lines: readonly string[]) => void;
  readonly now?: () => Date;
  readonly maxBytes?: number;
};

/**
 * The audit log: an append-only file of mode 0600, written at once and at most every COLLECT_MS. Its lines are a hash
 * chain (chain.ts) across rotations and restarts; the last line is sealed after each write. At 64 MiB the file
 * becomes audit.log.1, and older ones move on; four are kept. If another program or server moves the file away, a new
 * one is started. If it cannot be written, the service continues: lines are lost and counted, the log has
 * one message, and the first line after the gap has the number of lost lines. Lost lines have no sequence number.
 */
export class AuditFile implements Audit, AsyncDisposable {
  readonly #options: Required<AuditFileOptions>;
  #file: LineFile | undefined;
  /** `undefined` until a file was opened. */
  #chain: ChainHead | undefined;
  /** Entries about the log itself, written before all others. */
  #notes: readonly AuditEntry[] = [];
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;
  #maxBytes: number;
  #written = 0;
  #lost = 0;
  /** Lost since the last written line. */
  #gap = 0;
  #isFailing = false;
  #isClosed = false;

  private constructor(options: AuditFileOptions) {
    this.#options = { now: () => new Date(), maxBytes: DEFAULT_MAX_BYTES, ship: () => undefined, ...options };
    this.#maxBytes = this.#options.maxBytes;
  }

  /** ServiceError `start_failed` for an unusable path. */
  static async open(options: AuditFileOptions): Promise<AuditFile> {
    const audit = new AuditFile(options);
    try {
      await audit.#reopen();
      audit.#chain = await audit.#resume();
    } catch (cause) {
      if (!isErrno(cause, ...PASSING)) throw unusable(options.path, cause);
      audit.#report(cause);
    }
    return audit;
  }

  get counts(): { readonly written: number; readonly lost: number } {
    return { written: this.#written, lost: this.#lost };
  }

  write(entry: AuditEntry): void {
    const line = auditLine(entry, this.#options.now());
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING_LINES) {
      this.#lose([line]);
      return;
    }
    this.#waiting.push(line);
    this.#writing ??= this.#drain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const { log, path } = this.#options;
    try {
      await this.flushed();
    } catch (error) {
      log.error({ error, path }, "audit log not written to its end");
    }
    await this.#close();
  }

  /** Resolves when all lines up to now are written and shipped. Rejects if the disk takes longer than 2 s. */
  async flushed(): Promise<void> {
    await withDeadline(this.#writing ?? Promise.resolve(), STOP_TIMEOUT_MS, "the end of the audit log");
  }

  async #drain(): Promise<void> {
    // Collects all lines of this turn.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 || (this.#notes.length > 0 && !this.#isFailing)) {
      const lines = this.#waiting;
      this.#waiting = [];
      await this.#put(lines);
      if (!this.#isClosed) await pause(COLLECT_MS);
    }
    this.#writing = undefined;
  }

  async #put(lines: readonly string[]): Promise<void> {
    const { written, error } = await this.#append(lines).catch((error: unknown) => ({ written: 0, error }));
    this.#written += written;
    this.#lose(lines.slice(written));
    this.#report(error);
  }

  /** The number of these lines that are in the file now, and why not all are. */
  async #append(lines: readonly string[]): Promise<{ readonly written: number; readonly error?: unknown }> {
    const { head, ship, now } = this.#options;
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + CHAIN_BYTES, 0);
    const file = await this.#current(bytes);
    this.#chain ??= await this.#resume();
    const gap = this.#gap;
    const own = [...tornEntry(file), ...this.#notes, ...gapEntry(gap)];
    const all = [...own.map((entry) => auditLine(entry, now())), ...lines];
    const chained = chainLines(all, this.#chain);
    const texts = chained.map(({ text }) => text);
    const { lines: count, error } = await file.append(texts);
    ship(texts.slice(0, count));
    const last = chained[count - 1]?.head;
    if (last !== undefined) {
      this.#chain = last;
      await head.seal(last);
    }
    const told = own.slice(0, count);
    this.#notes = this.#notes.filter((note) => !told.includes(note));
    if (count >= own.length) this.#gap -= gap;
    return { written: Math.max(0, count - own.length), error };
  }

  /** Continues the file's chain. Changes made to it meanwhile are recorded first. */
  async #resume(): Promise<ChainHead> {
    const { path, head, log } = this.#options;
    const files = this.#file?.isRegular === true ? await keptFiles(path) : [];
    const { chain, reason } = await resumeChain(files, head);
    if (reason === undefined) return chain;
    log.error({ path, reason }, "audit log was changed");
    this.#notes = [{ action: "audit.break", result: "failed", details: { reason } }];
    this.#writing ??= this.#drain();
    return chain;
  }

  /** A new file if the current one was moved away or is full. */
  async #current(more: number): Promise<LineFile> {
    const isMoved = this.#file !== undefined && !(await this.#file.isAt(this.#options.path));
    if (isMoved) await this.#close();
    const file = this.#file ?? (await this.#reopen());
    const isFull = file.isRegular && file.bytes > 0 && file.bytes + more > this.#maxBytes;
    return isFull ? await this.#rotate(file) : file;
  }

  /** If that fails, the file continues until it has doubled. */
  async #rotate(file: LineFile): Promise<LineFile> {
    const { path, log, maxBytes } = this.#options;
    try {
      await this.#moveOn();
    } catch (error) {
      log.error({ error, path }, "full audit log not moved on");
      this.#maxBytes = file.bytes + maxBytes;
      return file;
    }
    return await this.#reopen();
  }

  /** Moves the files up to the first free name, so that repeated failures remove no more than one file. */
  async #moveOn(): Promise<void> {
    const { path } = this.#options;
    const names = logNames(path);
    const kept = await keptFiles(path);
    const isFree = (name: string): boolean => !kept.includes(name);
    const free = names.find(isFree) ?? `${path}.${KEPT_FILES}`;
    const details = { first: await firstOf(kept.filter((name) => name !== free)) };
    const moving = names.slice(0, names.indexOf(free) + 1).toReversed();
    for (const [index, to] of moving.slice(0, -1).entries()) {
      await rename(moving[index + 1] ?? path, to);
      // The first move may have removed a file, even if a later one fails.
      if (index === 0) this.#notes = [...this.#notes, { action: "audit.rotate", result: "ok", details }];
    }
  }

  async #reopen(): Promise<LineFile> {
    const { path, log, maxBytes } = this.#options;
    await this.#close();
    const opened = await LineFile.open(path, log);
    this.#file = opened;
    this.#maxBytes = maxBytes;
    return opened;
  }

  /** The data is written, even if closing fails. */
  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.[Symbol.asyncDispose]().catch(() => undefined);
  }

  #lose(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#lost += lines.length;
    this.#gap += lines.length;
    this.#options.ship(lines);
  }

  /** One message when writing begins to fail, and one when it works again. */
  #report(error: unknown): void {
    if (this.#isFailing === (error !== undefined)) return;
    this.#isFailing = error !== undefined;
    const { log, path } = this.#options;
    if (this.#isFailing) log.error({ error, path }, "audit log not written: lines are lost");
    else log.info({ path, lost: this.#lost }, "audit log written again");
  }
}

/** The first sequence number in these files. Unreadable ones do not stop a rotation. */
async function firstOf(files: readonly string[]): Promise<number> {
  for (const file of files) {
    const first = await firstSequence(file).catch(() => undefined);
    if (first !== undefined) return first;
  }
  return 1;
}

/** A verifier expects it right after the interrupted write. */
function tornEntry({ torn }: LineFile): readonly AuditEntry[] {
  if (torn.length === 0) return [];
  const details = { bytes: torn.length, sha256: hashOf(torn) };
  return [{ action: "audit.torn", result: "failed", details }];
}

function gapEntry(lost: number): readonly AuditEntry[] {
  return lost === 0 ? [] : [{ action: "audit.gap", result: "failed", details: { lost } }];
}

function unusable(path: string, cause: unknown): ServiceError {
  const reason = errorMessage(cause);
  const message = `cannot write the audit log ${path} (${reason}): give another file with --audit-log`;
  return new ServiceError("start_failed", message, { cause });
}
