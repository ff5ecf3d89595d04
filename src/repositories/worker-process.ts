import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { FromWorker, MAX_WORKER_MESSAGE_LENGTH, type ToWorker } from "../git/worker/messages.ts";
import { JsonLines } from "../lib/fs/json-lines.ts";
import { programFile } from "../lib/os/installation.ts";
import { errorFromBody, ServiceError } from "../protocol/errors.ts";
import type { RepositoryInput } from "./repositories.ts";

/** A program as a user's: itself, or the program that runs it as that user. */
export type WorkerCommand = {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export type RepositoryCall = {
  readonly name: string;
  readonly input: RepositoryInput;
  /** The name under which follow mode notes whose repository it is. */
  readonly user: string;
};

/** Messages that are not the answer to a call. */
export type WorkerReport = Exclude<FromWorker, { type: "answer" | "failure" }>;

/** Of the standard error of the process, in bytes: it says why the process did not start. */
const MAX_STDERR_BYTES = 2_000;
const HOST_SOCKET_FD = 3;
/** More than one git command may take. */
const END_TIMEOUT_MS = 90_000;
const END_WAIT_MS = 3_000;

/** The program of a git worker, as the user of this process. */
export function workerProgram(node: string, env: Readonly<Record<string, string>>): WorkerCommand {
  return { file: node, args: [programFile("git-worker")], env };
}

/** A running git worker. It can reach nothing but the socket that it inherits. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #lines: JsonLines;
  readonly #socket: Duplex;
  readonly #calls = new Map<number, PromiseWithResolvers<string>>();
  #lastCall = 0;
  #isEnding = false;
  #failure: ServiceError | undefined;
  /** That of its user at the start, see `Runner`. */
  readonly identity: string;
  /** Resolves with the reason when it has ended; all calls have failed by then. */
  readonly ended: Promise<ServiceError>;

  constructor(
    command: WorkerCommand,
    options: { readonly identity: string; readonly onReport: (report: WorkerReport) => void },
  ) {
    this.identity = options.identity;
    this.#child = spawn(command.file, command.args, {
      // A signal to the terminal of an inline session host must not end it in the middle of a change.
      ...{ cwd: "/", env: command.env, detached: true },
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    const socket = this.#child.stdio[HOST_SOCKET_FD];
    if (!(socket instanceof Duplex)) throw new ServiceError("launch_failed", "the git worker has no socket");
    this.#socket = socket;
    this.#lines = new JsonLines(socket, {
      maxLength: MAX_WORKER_MESSAGE_LENGTH,
      onMessage: (message) => this.#receive(FromWorker.parse(message), options.onReport),
    });
    this.ended = ended(this.#child).then((error) => {
      this.#failure = error;
      for (const call of this.#calls.values()) call.reject(error);
      return error;
    });
    socket.once("close", () => {
      if (!this.#isEnding) this.kill();
    });
  }

  /** Whether a call waits for its answer. */
  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  /** The answer as JSON text. Rejects with the worker's errors, or `git_failed` when the process ends meanwhile. */
  async call(call: RepositoryCall, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
    const number = ++this.#lastCall;
    const answer = Promise.withResolvers<string>();
    this.#calls.set(number, answer);
    const cancel = (): void => {
      this.send({ type: "cancel", number });
      answer.reject(signal.reason);
    };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      this.send({ type: "call", number, ...call });
      return await answer.promise;
    } finally {
      this.#calls.delete(number);
      signal.removeEventListener("abort", cancel);
    }
  }

  send(message: ToWorker): void {
    this.#lines.send(message);
  }

  /**
   * It completes what it has begun in a repository, and ends; after END_TIMEOUT_MS it is killed. Resolves at its end,
   * or after END_WAIT_MS.
   */
  async end(): Promise<void> {
    setTimeout(() => this.kill(), END_TIMEOUT_MS).unref();
    this.#isEnding = true;
    this.#socket.end();
    this.#child.unref();
    const stop = new AbortController();
    await Promise.race([this.ended, pause(END_WAIT_MS, undefined, stop).catch(() => undefined)]);
    stop.abort();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #receive(message: FromWorker, onReport: (report: WorkerReport) => void): void {
    if (message.type === "answer") this.#calls.get(message.number)?.resolve(message.body);
    else if (message.type === "failure") {
      const error = errorFromBody(message.error, "git_failed", "the git worker failed");
      this.#calls.get(message.number)?.reject(error);
    } else onReport(message);
  }
}

async function ended(child: ChildProcess): Promise<ServiceError> {
  const { promise, resolve } = Promise.withResolvers<ServiceError>();
  let stderr = "";
  child.stderr?.on("data", (piece: Buffer) => {
    stderr = (stderr + piece.toString("latin1")).slice(-MAX_STDERR_BYTES);
  });
  child.once("error", (cause) => resolve(new ServiceError("launch_failed", "no git worker", { cause })));
  child.once("close", (code, signal) => {
    const reason = stderr
      .trim()
      .split("\n")
      .findLast((line) => /^(?:ttyhq|\w*Error)\b/.test(line));
    const why = reason === undefined ? `${signal ?? code}` : `${signal ?? code}: ${reason}`;
    resolve(new ServiceError("git_failed", `the git worker ended (${why}): try again`));
  });
  return await promise;
}
