// The screens of sessions, from a thread (thread/worker.ts) that the first view starts. It does not keep the process alive.
import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { programFile } from "../../lib/os/installation.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { SCREEN_CLOSE_TIMEOUT_MS, SCREEN_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Screen, ScreenReply, ScreenRequest, ScreenSource, ScreenView } from "./thread/message.ts";

/** Heap of the thread; exhausting it ends the thread and not the process. */
const MAX_HEAP_MB = 1_024;

/** `ended` aborts with the error of pending views. */
type Thread = { readonly worker: Worker; readonly ended: AbortController };

export class Screens implements AsyncDisposable {
  readonly #timeoutMs: number;
  #thread: Thread | undefined;
  #isClosed = false;

  /** `timeoutMs`: of a caller; the work continues for the next one. */
  constructor({ timeoutMs = SCREEN_TIMEOUT_MS }: { readonly timeoutMs?: number } = {}) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The screen, perhaps at a later offset than requested. Rejects with `internal_error` when the output is unreadable, a
   * timeout passes or the thread ends; `shutting_down` after disposal.
   */
  async view(source: ScreenSource, view: ScreenView): Promise<Screen> {
    if (this.#isClosed) throw shuttingDown();
    this.#thread ??= this.#start();
    const { worker, ended } = this.#thread;
    const what = `the screen of session ${source.id}`;
    const { port1, port2 } = new MessageChannel();
    const answer = Promise.withResolvers<ScreenReply>();
    port1.once("message", answer.resolve);
    try {
      const request: ScreenRequest = { kind: "view", source, view, reply: port2 };
      worker.postMessage(request, [port2]);
      const reply = await withDeadline(answer.promise, this.#timeoutMs, what, ended.signal);
      if ("screen" in reply) return reply.screen;
      throw failure(reply.failure);
    } catch (error) {
      throw isTimeout(error) ? failure(`${what} takes too long`, error) : error;
    } finally {
      port1.close();
    }
  }

  /** The session is gone, with its files. */
  forget(id: string): void {
    this.#thread?.worker.postMessage({ kind: "forget", id } satisfies ScreenRequest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    thread.ended.abort(shuttingDown());
    const { worker } = thread;
    worker.ref();
    const exited = once(worker, "exit");
    worker.postMessage({ kind: "close" } satisfies ScreenRequest);
    // Without an exit at most a checkpoint is lost.
    await succeeded(withDeadline(exited, SCREEN_CLOSE_TIMEOUT_MS, "the end of the screen thread"));
    await worker.terminate();
  }

  #start(): Thread {
    const worker = new Worker(programFile("screen-worker"), {
      // The flags of this process may concern its own main module.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    const thread = { worker, ended: new AbortController() };
    const end = (error: ServiceError): void => {
      if (this.#thread === thread) this.#thread = undefined;
      thread.ended.abort(error);
    };
    worker.on("error", (error) => end(failure("the screen thread failed", error)));
    worker.on("exit", (code) => end(failure(`the screen thread ended with code ${code}`)));
    // Last: adding a listener refs the thread.
    worker.unref();
    return thread;
  }
}

function shuttingDown(): ServiceError {
  return new ServiceError("shutting_down", "the server is shutting down");
}

function failure(message: string, cause?: unknown): ServiceError {
  return new ServiceError("internal_error", message, { cause });
}
