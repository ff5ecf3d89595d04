// The screens of sessions. Their terminals live in a thread of their own (thread/worker.ts), which is started for the
// first view and does not keep the process alive.
import { Worker } from "node:worker_threads";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { programFile } from "../../lib/os/installation.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Resync } from "../../protocol/frame/payload.ts";
import {
  MAX_SCREEN_TERMINALS,
  SCREEN_CLOSE_TIMEOUT_MS,
  SCREEN_IDLE_MS,
  SCREEN_TIMEOUT_MS,
} from "../../protocol/limits.ts";
import type { TextView } from "./terminal/text.ts";
import type {
  Screen,
  ScreenPoolOptions,
  ScreenReply,
  ScreenRequest,
  ScreenSource,
  ScreenView,
} from "./thread/message.ts";

export type { ScreenSource } from "./thread/message.ts";

/** Heap of the thread; exhausting it ends the thread and not the process. */
const MAX_HEAP_MB = 1_024;

type Thread = { readonly worker: Worker; readonly ended: Promise<void> };

export type ScreensOptions = Partial<ScreenPoolOptions> & {
  /** Timeout of a caller; the work continues for the next one. */
  readonly timeoutMs?: number;
};

/**
 * All methods reject with `internal_error` when the output is unreadable, a timeout passes or the thread ends, and with
 * `shutting_down` after disposal. An answer may be for a later offset than requested.
 */
export class Screens implements AsyncDisposable {
  readonly #options: ScreenPoolOptions;
  readonly #timeoutMs: number;
  /** Bounded by the timeout of the callers. */
  readonly #pending = new Map<number, PromiseWithResolvers<Screen>>();
  #thread: Thread | undefined;
  #lastNumber = 0;
  #isClosed = false;

  constructor(options: ScreensOptions = {}) {
    const { idleMs = SCREEN_IDLE_MS, maxTerminals = MAX_SCREEN_TERMINALS } = options;
    this.#options = { idleMs, maxTerminals };
    this.#timeoutMs = options.timeoutMs ?? SCREEN_TIMEOUT_MS;
  }

  /**
   * Bytes that bring a reset terminal of that size into the state after the output up to the offset (contract 1.4):
   * both buffers with up to 1,000 lines of scrollback, cursor, colours, modes and an incomplete sequence.
   * `isScreenOnly`: without scrollback and without the lines behind an alternate screen.
   */
  async resync(
    source: ScreenSource,
    { isScreenOnly = false }: { readonly isScreenOnly?: boolean } = {},
  ): Promise<Resync> {
    const { offset, size, bytes } = await this.#view(source, { kind: "resync", isScreenOnly });
    return { offset, size, bytes };
  }

  /** The screen as plain text (contract 2.5, facts 3.8). */
  async text(source: ScreenSource, { scrollback, styles }: TextView): Promise<string> {
    return (await this.#view(source, { kind: "text", scrollback, styles })).text;
  }

  /** A SNAPSHOT_VT (facts 2) of the screen. */
  async snapshot(source: ScreenSource): Promise<{ readonly offset: number; readonly bytes: Uint8Array }> {
    const { offset, bytes } = await this.#view(source, { kind: "snapshot" });
    return { offset, bytes };
  }

  /** Updates the checkpoint of a session without new output, for a fast next view. */
  async prepare(source: ScreenSource): Promise<void> {
    await this.#view(source, { kind: "prepare" });
  }

  /** The session is gone, with its files. */
  forget(id: string): void {
    if (this.#thread !== undefined) this.#post(this.#thread, { kind: "forget", id });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#rejectAll(new ServiceError("shutting_down", "the server is shutting down"));
    const thread = this.#thread;
    if (thread === undefined) return;
    this.#thread = undefined;
    thread.worker.ref();
    this.#post(thread, { kind: "close" });
    await withDeadline(thread.ended, SCREEN_CLOSE_TIMEOUT_MS, "the end of the screen thread").catch(() => {
      // At most a checkpoint is lost.
    });
    await thread.worker.terminate();
  }

  async #view(source: ScreenSource, view: ScreenView): Promise<Screen> {
    if (this.#isClosed) throw new ServiceError("shutting_down", "the server is shutting down");
    const number = ++this.#lastNumber;
    const screen = Promise.withResolvers<Screen>();
    this.#pending.set(number, screen);
    try {
      this.#thread ??= this.#start();
      this.#post(this.#thread, { kind: "view", number, source, view });
      return await withDeadline(screen.promise, this.#timeoutMs, `the screen of session ${source.id}`);
    } catch (error) {
      throw isTimeout(error) ? failure(`the screen of session ${source.id} takes too long`, error) : error;
    } finally {
      this.#pending.delete(number);
    }
  }

  #start(): Thread {
    const worker = new Worker(programFile("screen-worker"), {
      workerData: this.#options,
      // Those of this process may concern its own main module.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    const ended = Promise.withResolvers<void>();
    const thread = { worker, ended: ended.promise };
    const end = (error: ServiceError): void => {
      ended.resolve();
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#rejectAll(error);
    };
    worker.on("message", (reply: ScreenReply) => this.#settle(reply));
    worker.on("error", (error) => end(failure("the screen thread failed", error)));
    worker.on("exit", (code) => end(failure(`the screen thread ended with code ${code}`)));
    // Last: adding a listener refs the thread.
    worker.unref();
    return thread;
  }

  #post({ worker }: Thread, request: ScreenRequest): void {
    worker.postMessage(request);
  }

  #settle(reply: ScreenReply): void {
    const pending = this.#pending.get(reply.number);
    if (reply.kind === "screen") pending?.resolve(reply.screen);
    else pending?.reject(failure(reply.message));
  }

  #rejectAll(error: ServiceError): void {
    for (const { reject } of this.#pending.values()) reject(error);
  }
}

function failure(message: string, cause?: unknown): ServiceError {
  return new ServiceError("internal_error", message, { cause });
}
