import { rename } from "node:fs/promises";
import { withDeadline } from "../../lib/async/deadline.ts";
import { isErrno } from "../../lib/fs/atomic-file.ts";
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
/** Lines that wait for a slow disk; over that new ones are lost, and counted. */
const MAX_WAITING_LINES = 10_000;
/** Whether the file is still the one at its path is looked up this often, when there is something to write. */
const CHECK_MS = 1_000;
const STOP_TIMEOUT_MS = 2_000;
/** What the chain adds to a line, about. */
const CHAIN_BYTES = 100;

/** What is in the way when it is not the path that is wrong: a server starts all the same. */
const PASSING = ["ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE"];

type AuditFileOptions = {
  readonly path: string;
  readonly head: SealedHead;
  readonly log: Pick<Log, "warn" | "info" | "error">;
  /** Gets each line as it was written; without a sequence number one that could not be. Must not throw. */
  readonly ship?: (lines: readonly string[]) => void;
  readonly now?: () => Date;
  readonly maxBytes?: number;
};

/** A line that the log writes about itself. */
type OwnLine = { readonly entry: AuditEntry; readonly written: () => void };

/**
 * The audit log: a file of mode 0600 that is only added to, one write for each turn of the event loop. Its lines are a hash
 * chain (chain.ts), which rotation and restarts continue, and whose last line is sealed after each write.
 *
 * At 64 MiB the file becomes audit.log.1, and the ones before it move on; four of them are kept. Somebody else may move
 * the file away: a new one is begun within a second.
 *
 * When it cannot be written, the service goes on: lines are lost and counted, the log has one message, and the first line
 * after the gap has the number of lost lines. Lost lines never had a sequence number.
 */
export class AuditFile implements Audit, AsyncDisposable {
  readonly #options: Required<AuditFileOptions>;
  #file: LineFile | undefined;
  /** `undefined` until a file could be opened. */
  #chain: ChainHead | undefined;
  /** About the log itself, to be written before everything else. */
  #notes: readonly AuditEntry[] = [];
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;
  #checkedAtMs = 0;
  /** How long the file may get. */
  #maxBytes: number;
  #written = 0;
  #lost = 0;
  /** Lost since the last line that was written. */
  #gap = 0;
  #isFailing = false;
  #isClosed = false;

  private constructor(options: AuditFileOptions) {
    this.#options = { now: () => new Date(), maxBytes: DEFAULT_MAX_BYTES, ship: () => undefined, ...options };
    this.#maxBytes = this.#options.maxBytes;
  }

  /** Throws `start_failed` for a path at which no such file can be. */
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

  /** Lines written by this process, and lines that could not be. */
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
    // What else is told in this turn goes with it.
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

  /** In this order: a verifier expects what an interrupted write left to be followed by the line that names it. */
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

  /** Goes on with the chain of the file. What was done to it meanwhile is the first line that follows. */
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

  /** The file to write to: another one when it was moved away, or when it is full. */
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

  /** Where the files cannot be moved, this one goes on until it is as long again. */
  async #rotate(file: LineFile): Promise<LineFile> {
    const { path, log, maxBytes } = this.#options;
    try {
      // Another server on the same file may have been faster.
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

  /** What was written is written, whatever its closing says. */
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

function unlessMissing(error: unknown): void {
  if (!isErrno(error, "ENOENT")) throw error;
}

function unusable(path: string, cause: unknown): ServiceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `cannot write the audit log ${path} (${reason}): give another file with --audit-log`;
  return new ServiceError("start_failed", message, { cause });
}
