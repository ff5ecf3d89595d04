import { rename } from "node:fs/promises";
import { isErrno } from "../lib/atomic-file.ts";
import { withDeadline } from "../lib/deadline.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { Audit, AuditEntry } from "./entry.ts";
import { auditLine } from "./line.ts";
import { type Appended, LineFile } from "./line-file.ts";

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Full files that are kept: audit.log.1, the newest, to audit.log.4. */
const KEPT_FILES = 4;
/** Lines that wait for a slow disk; over that new ones are lost, and counted. */
const MAX_WAITING_LINES = 10_000;
/** Whether the file is still the one at its path is looked up this often, when there is something to write. */
const LOOK_MS = 1_000;
const STOP_TIMEOUT_MS = 2_000;

/** What is in the way when it is not the path that is wrong: a server starts all the same. */
const PASSING = ["ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE"];

type AuditFileOptions = {
  readonly path: string;
  readonly log: Pick<Log, "warn" | "info" | "error">;
  readonly now?: () => Date;
  readonly maxBytes?: number;
};

/**
 * The audit log as a file of mode 0600 that is only added to. What is told in one turn of the event loop is one write. At
 * 64 MiB the file becomes audit.log.1, and the ones before it move on; four of them are kept. Somebody else may move the
 * file away: a new one is begun within a second.
 *
 * When it cannot be written, the service goes on: lines are lost and counted, the log tells of it once, and the first
 * line after the gap says how many are missing.
 */
export class AuditFile implements Audit, AsyncDisposable {
  readonly #options: Required<AuditFileOptions>;
  #file: LineFile | undefined;
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;
  #lookedAtMs = 0;
  /** How long the file may get. */
  #maxBytes: number;
  #written = 0;
  #lost = 0;
  /** Lost since the last line that was written. */
  #gap = 0;
  #isFailing = false;
  #isClosed = false;

  private constructor(options: AuditFileOptions) {
    this.#options = { now: () => new Date(), maxBytes: DEFAULT_MAX_BYTES, ...options };
    this.#maxBytes = this.#options.maxBytes;
  }

  /** Throws `start_failed` for a path at which no such file can be. */
  static async open(options: AuditFileOptions): Promise<AuditFile> {
    const audit = new AuditFile(options);
    try {
      await audit.#reopen();
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
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING_LINES) {
      this.#lose(1);
      return;
    }
    this.#waiting.push(auditLine(entry, this.#options.now()));
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
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      await this.#put(lines);
    }
    this.#writing = undefined;
  }

  async #put(lines: readonly string[]): Promise<void> {
    const gap = this.#gap;
    const head = gap === 0 ? [] : [this.#gapLine()];
    const appended = await this.#append([...head, ...lines]);
    const written = Math.max(0, appended.lines - head.length);
    this.#written += written;
    if (appended.lines > 0) this.#gap -= gap;
    this.#lose(lines.length - written);
    if (appended.error === undefined) this.#succeeded();
    else this.#failed(appended.error);
  }

  async #append(lines: readonly string[]): Promise<Appended> {
    try {
      const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
      return await (await this.#current(bytes)).append(lines);
    } catch (error) {
      return { lines: 0, error };
    }
  }

  /** The file to write to: another one when it was moved away, or when it is full. */
  async #current(more: number): Promise<LineFile> {
    const { path } = this.#options;
    const now = performance.now();
    const isDue = now - this.#lookedAtMs > LOOK_MS;
    if (isDue) this.#lookedAtMs = now;
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

  #gapLine(): string {
    const entry = { action: "audit.gap", result: "failed", details: { lost: this.#gap } } as const;
    return auditLine(entry, this.#options.now());
  }

  #lose(count: number): void {
    this.#lost += count;
    this.#gap += count;
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
