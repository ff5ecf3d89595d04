import { type ChildProcess, fork } from "node:child_process";
import type { z } from "zod";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { programFile } from "../../lib/os/installation.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { ACCOUNT_WORKER_IDLE_MS } from "../../protocol/limits.ts";
import { type Question, Reply } from "./questions.ts";

type Pending = {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: ServiceError) => void;
};

/**
 * An account worker: started by the first question, stopped after an idle minute, and replaced when it dies or is
 * late. It gets nothing of the server's environment and does not keep the process alive. The caller bounds the number
 * of questions.
 */
export class WorkerProcess implements Disposable {
  readonly #pending = new Map<number, Pending>();
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #uses = 0;
  #lastNumber = 0;

  /** ServiceError `internal_error` if the worker fails or does not answer in time. */
  async ask<Answer>(question: Question, answer: z.ZodType<Answer>, timeoutMs: number): Promise<Answer> {
    const number = ++this.#lastNumber;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(number, { resolve, reject });
    using _ = this.use();
    try {
      this.#child ??= this.#start();
      this.#child.send({ number, question }, (error) => {
        if (error !== null) reject(failure("the account worker is out of reach", error));
      });
      return answer.parse(await withDeadline(promise, timeoutMs, `the system's answer (${question.kind})`));
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const late = failure("the system takes too long to answer about its users", error);
      this.#end(late);
      throw late;
    } finally {
      this.#pending.delete(number);
    }
  }

  /** The worker is not idle until this is disposed. */
  use(): Disposable {
    this.#uses += 1;
    clearTimeout(this.#idle);
    const end = (): void => {
      this.#uses -= 1;
      if (this.#uses === 0) this.#endWhenIdle();
    };
    return { [Symbol.dispose]: end };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    this.#end(new ServiceError("shutting_down", "the server is shutting down"));
  }

  #start(): ChildProcess {
    const child = fork(programFile("account-worker"), [], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      execArgv: [],
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const ended = (error: ServiceError): void => {
      if (this.#child === child) this.#end(error);
    };
    child.on("message", (message) => {
      const { number, answer, error } = Reply.parse(message);
      if (error === undefined) this.#pending.get(number)?.resolve(answer);
      else this.#pending.get(number)?.reject(failure(error));
    });
    child.once("error", (error) => ended(failure("the account worker cannot be started", error)));
    child.once("exit", (code, signal) => ended(failure(`the account worker ended (${signal ?? code})`)));
    child.unref();
    child.channel?.unref();
    return child;
  }

  #end(error: ServiceError): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    for (const { reject } of this.#pending.values()) reject(error);
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(failure("idle")), ACCOUNT_WORKER_IDLE_MS).unref();
  }
}

function failure(message: string, cause?: unknown): ServiceError {
  return new ServiceError("internal_error", message, { cause });
}
