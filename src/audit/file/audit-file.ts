import { rename } from "node:fs/promises";
import { withDeadline } from "../../lib/async/deadline.ts";
import { isErrno, unlessMissing } from "../../lib/fs/atomic-file.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Audit, AuditEntry } from "../entry.ts";
import { type ChainHead, chainLines, hashOf } from "./chain.ts";
import { auditLine } from "./line.ts";
import { type Appended, LineFile } from "./line-file.ts";
import { firstSequence, KEPT_FILES, keptFiles } from "./log-lines.ts";
import { resumeChain } from "./resume.ts";
import type { SealedHead } from "./sealed-head.ts";

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Lines waiting for a slow disk; over that new ones are lost and counted. */
const MAX_WAITING_LINES = 10_000;
/** How often the server checks whether the file was moved, when there is something to write. */
const CHECK_MS = 1_000;
const STOP_TIMEOUT_MS = 2_000;
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

type OwnLine = { readonly entry: AuditEntry; readonly written: () => void };

/**
 * The audit log: an append-only file of mode 0600, with one write per turn of the event loop. Its lines are a hash
 * chain (chain.ts) across rotations and restarts; the last line is sealed after each write. At 64 MiB the file
 * becomes audit.log.1, and older ones move on; four are kept. If another program moves the file away, a new one is
 * started within a second. If it cannot be written, the service continues: lines are lost and counted, the log has
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
  #checkedAtMs = 0;
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
      if (!PASSING.some((code) => isErrno(cause, code))) throw unusable(options.path, cause);
      audit.#failed(cause);
    }
    return audit;
  }

  /** Lines written and lost by this process. */
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
      await withDeadline(this.#writing ?? Promise.resolve(), STOP_TIMEOUT_MS, "the end of the audit log");
    } catch (error) {
      log.error({ error, path }, "audit log not written to its end");
    }
    await this.#close();
  }

  async #drain(): Promise<void> {
    // Collects all lines of this turn.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 || (this.#notes.length > 0 && !this.#isFailing)) {
      const lines = this.#waiting;
      this.#waiting = [];
      await this.#put(lines);
    }
    this.#writing = undefined;
  }

  async #put(lines: readonly string[]): Promise<void> {
    const { appended, own, chained } = await this.#append(lines);
    this.#options.ship(chained.lines.slice(0, appended.lines));
    const last = chained.heads[appended.lines - 1];
    if (last !== undefined) {
      this.#chain = last;
      await this.#options.head.seal(last);
    }
    for (const { written } of own.slice(0, appended.lines)) written();
    const written = Math.max(0, appended.lines - own.length);
    this.#written += written;
    this.#lose(lines.slice(written));
    if (appended.error === undefined) this.#succeeded();
    else this.#failed(appended.error);
  }

  async #append(lines: readonly string[]): Promise<{
    readonly appended: Appended;
    readonly own: readonly OwnLine[];
    readonly chained: ReturnType<typeof chainLines>;
  }> {
    try {
      const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + CHAIN_BYTES, 0);
      const file = await this.#current(bytes);
      this.#chain ??= await this.#resume();
      const own = this.#ownLines(file);
      const time = this.#options.now();
      const all = [...own.map(({ entry }) => auditLine(entry, time)), ...lines];
      const chained = chainLines(all, this.#chain);
      return { appended: await file.append(chained.lines), own, chained };
    } catch (error) {
      return { appended: { lines: 0, error }, own: [], chained: { lines: [], heads: [] } };
    }
  }

  /** In this order: a verifier expects the line about an interrupted write right after it. */
  #ownLines({ torn }: LineFile): readonly OwnLine[] {
    const own: OwnLine[] = [];
    const add = (entry: AuditEntry, written: () => void): void => void own.push({ entry, written });
    if (torn.length > 0) {
      const details = { bytes: torn.length, sha256: hashOf(torn) };
      add({ action: "audit.torn", result: "failed", details }, () => undefined);
    }
    for (const entry of this.#notes) {
      add(entry, () => {
        this.#notes = this.#notes.filter((note) => note !== entry);
      });
    }
    const gap = this.#gap;
    if (gap > 0) {
      add({ action: "audit.gap", result: "failed", details: { lost: gap } }, () => {
        this.#gap -= gap;
      });
    }
    return own;
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
    const { path } = this.#options;
    const now = performance.now();
    const isDue = now - this.#checkedAtMs > CHECK_MS;
    if (isDue) this.#checkedAtMs = now;
    if (isDue && this.#file !== undefined && !(await this.#file.isAt(path))) await this.#close();
    const file = this.#file ?? (await this.#reopen());
    const isFull = file.isRegular && file.bytes > 0 && file.bytes + more > this.#maxBytes;
    return isFull ? await this.#rotate(file) : file;
  }

  /** If renaming fails, the file continues until it has doubled. */
  async #rotate(file: LineFile): Promise<LineFile> {
    const { path, log, maxBytes } = this.#options;
    try {
      // Another server on the same file may have rotated it.
      if (await file.isAt(path)) {
        for (let number = KEPT_FILES - 1; number > 0; number -= 1) {
          await rename(`${path}.${number}`, `${path}.${number + 1}`).catch(unlessMissing);
        }
        await rename(path, `${path}.1`);
        await this.#noteRotation();
      }
    } catch (error) {
      log.error({ error, path }, "full audit log not moved on");
      this.#maxBytes = file.bytes + maxBytes;
      return file;
    }
    return await this.#reopen();
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

  async #noteRotation(): Promise<void> {
    let first: number | undefined;
    for (const file of await keptFiles(this.#options.path)) first ??= await firstSequence(file);
    const details = { first: first ?? 1 };
    this.#notes = [...this.#notes, { action: "audit.rotate", result: "ok", details }];
  }

  #lose(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#lost += lines.length;
    this.#gap += lines.length;
    this.#options.ship(lines);
  }

  #failed(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.log.error({ error, path: this.#options.path }, "audit log not written: lines are lost");
  }

  #succeeded(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.log.info({ path: this.#options.path, lost: this.#lost }, "audit log written again");
  }
}

function unusable(path: string, cause: unknown): ServiceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `cannot write the audit log ${path} (${reason}): give another file with --audit-log`;
  return new ServiceError("start_failed", message, { cause });
}
