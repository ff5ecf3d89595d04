import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { FromWorker, MAX_WORKER_MESSAGE_LENGTH, type ToWorker } from "../git/worker/messages.ts";
import { JsonLines } from "../lib/fs/json-lines.ts";
import { programFile } from "../lib/os/installation.ts";
import { ServiceError } from "../protocol/errors.ts";

/** How a program becomes one of a user: itself, or what runs it as that user. */
export type WorkerCommand = {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** Of what the process says on its standard error, in bytes: why it did not start. */
const MAX_STDERR_BYTES = 2_000;
const HOST_SOCKET_FD = 3;
/** More than one git command may take. */
const END_TIMEOUT_MS = 90_000;

/** The program of a git worker, before it is known as which user it runs. */
export function workerProgram(node: string, env: Readonly<Record<string, string>>): WorkerCommand {
  return { file: node, args: [programFile("git-worker")], env };
}

/** A git worker that runs. Its only way to anybody is the socket that it inherits. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #lines: JsonLines;
  readonly #socket: Duplex;
  #isEnding = false;
  /** Resolves when it has ended, with why. */
  readonly ended: Promise<ServiceError>;

  constructor(command: WorkerCommand, onMessage: (message: FromWorker) => void) {
    this.#child = spawn(command.file, command.args, {
      // What ends the terminal of an inline session host must not end it in the middle of a change.
      ...{ cwd: "/", env: command.env, detached: true },
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    const socket = this.#child.stdio[HOST_SOCKET_FD];
    if (!(socket instanceof Duplex)) throw new ServiceError("launch_failed", "the git worker has no socket");
    this.#socket = socket;
    this.#lines = new JsonLines(socket, {
      maxLength: MAX_WORKER_MESSAGE_LENGTH,
      onMessage: (message) => onMessage(FromWorker.parse(message)),
    });
    this.ended = ended(this.#child);
    socket.once("close", () => {
      if (!this.#isEnding) this.kill();
    });
  }

  send(message: ToWorker): void {
    this.#lines.send(message);
  }

  /** It finishes what it has begun in a repository, and ends; after END_TIMEOUT_MS it is killed. */
  end(): void {
    setTimeout(() => this.kill(), END_TIMEOUT_MS).unref();
    this.#isEnding = true;
    this.#socket.end();
    this.#child.unref();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

async function ended(child: ChildProcess): Promise<ServiceError> {
  const { promise, resolve } = Promise.withResolvers<ServiceError>();
  let said = "";
  child.stderr?.on("data", (piece: Buffer) => {
    said = (said + piece.toString("latin1")).slice(-MAX_STDERR_BYTES);
  });
  child.once("error", (cause) => resolve(new ServiceError("launch_failed", "no git worker", { cause })));
  child.once("close", (code, signal) => {
    const reason = said
      .trim()
      .split("\n")
      .findLast((line) => /^(?:ttyhq|\w*Error)\b/.test(line));
    const why = reason === undefined ? `${signal ?? code}` : `${signal ?? code}: ${reason}`;
    resolve(new ServiceError("git_failed", `the git worker ended (${why}): try again`));
  });
  return await promise;
}
