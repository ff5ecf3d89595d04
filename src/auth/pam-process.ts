import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isTimeout, withDeadline } from "../lib/deadline.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  SYSTEM_PASSWORD_IDLE_MS,
  SYSTEM_PASSWORD_TIMEOUT_MS,
  SYSTEM_PASSWORDS_AT_ONCE,
} from "../protocol/limits.ts";
import type { PamCheck } from "./pam.ts";
import { PamAnswer, type PamQuestion } from "./pam-message.ts";

type Pending = { readonly resolve: (code: number) => void; readonly reject: (error: ServiceError) => void };

/**
 * Asks PAM in a process apart, which is started when it is needed and ended when it has been idle for a minute. PAM
 * waits for seconds after a wrong password, in a thread that all reading of files shares; its modules change how the
 * process hears of its children's ends; one that crashes or hangs can be left behind; and the passwords go with it.
 * It keeps no process alive. Questions are not counted here: ask no more than SYSTEM_PASSWORDS_AT_ONCE at a time.
 */
export class PamProcess implements Disposable {
  readonly #pending = new Map<number, Pending>();
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastNumber = 0;

  /** PAM's code. Rejects with `internal_error` when PAM takes too long or its process ends. */
  readonly ask: PamCheck = async (question) => {
    const number = ++this.#lastNumber;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#pending.set(number, { resolve, reject });
    clearTimeout(this.#idle);
    try {
      this.#send({ number, ...question });
      return await withDeadline(promise, SYSTEM_PASSWORD_TIMEOUT_MS, "PAM");
    } catch (error) {
      if (!isTimeout(error)) throw error;
      // Whatever hangs in there would keep its thread for good.
      this.#end(failure("PAM takes too long", error));
      throw failure("PAM takes too long", error);
    } finally {
      this.#pending.delete(number);
      if (this.#pending.size === 0) this.#endWhenIdle();
    }
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    this.#end(new ServiceError("shutting_down", "the server is shutting down"));
  }

  #send(question: PamQuestion): void {
    this.#child ??= this.#start();
    this.#child.send(question, (error) => {
      if (error !== null) this.#pending.get(question.number)?.reject(failure("PAM is out of reach", error));
    });
  }

  #start(): ChildProcess {
    const child = fork(fileURLToPath(workerUrl()), [], {
      // Nothing of the server's: its variables, flags and streams are not PAM's business.
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", UV_THREADPOOL_SIZE: String(SYSTEM_PASSWORDS_AT_ONCE) },
      execArgv: [],
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const ended = (error: ServiceError): void => {
      if (this.#child === child) this.#end(error);
    };
    child.on("message", (message) => {
      const { number, code } = PamAnswer.parse(message);
      this.#pending.get(number)?.resolve(code);
    });
    child.once("error", (error) => ended(failure("PAM cannot be asked", error)));
    child.once("exit", (code, signal) =>
      ended(failure(`the process that asks PAM ended (${signal ?? code})`)),
    );
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
    this.#idle = setTimeout(() => this.#end(failure("idle")), SYSTEM_PASSWORD_IDLE_MS).unref();
  }
}

function failure(message: string, cause?: unknown): ServiceError {
  return new ServiceError("internal_error", message, { cause });
}

/** The source is run as it is in development, and compiled beside this file otherwise. */
function workerUrl(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "./pam-worker.ts" : "./pam-worker.js", import.meta.url);
}
