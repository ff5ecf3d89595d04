import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import type { Method } from "../../lib/async/rpc.ts";
import { WorkerProcess } from "../../lib/os/worker-process.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { ACCOUNT_WORKER_IDLE_MS } from "../../protocol/limits.ts";

/**
 * A process that looks up accounts: started by the first call, stopped when it is idle, and replaced when it dies or is
 * late. It gets nothing of the server's environment. The caller bounds the number of calls.
 */
export class AccountWorker implements Disposable {
  readonly #program: string;
  #process: WorkerProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(program: string) {
    this.#program = program;
  }

  /** ServiceError `internal_error` if the worker fails or does not answer in time. */
  async call<Input, Answer>(method: Method<Input, Answer>, input: Input, timeoutMs: number): Promise<Answer> {
    this.#process ??= this.#start();
    const { peer } = this.#process;
    this.#restartIdle();
    try {
      const ask = (signal: AbortSignal): Promise<Answer> => peer.call(method, input, signal);
      return await withDeadline(ask, timeoutMs, `the system's answer (${method.name})`);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const message = "the system takes too long to answer about its users";
      const late = new ServiceError("internal_error", message, { cause: error });
      this.#end(late);
      throw late;
    } finally {
      this.#restartIdle();
    }
  }

  /** Dropped without a running worker. */
  emit<Input>(event: Method<Input, undefined>, input: Input): void {
    this.#process?.peer.emit(event, input);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    this.#end(new ServiceError("shutting_down", "the server is shutting down"));
  }

  #start(): WorkerProcess {
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
    const program = { file: process.execPath, args: [this.#program], env };
    const worker = new WorkerProcess(program, { name: "account worker", code: "internal_error" });
    void worker.ended.then(() => {
      if (this.#process === worker) this.#process = undefined;
    });
    return worker;
  }

  #restartIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(), ACCOUNT_WORKER_IDLE_MS).unref();
  }

  #end(reason?: ServiceError): void {
    this.#process?.kill(reason);
    this.#process = undefined;
  }
}
