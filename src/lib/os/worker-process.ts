// Child processes that serve calls over a socket, which they inherit as descriptor 3.
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { type ErrorCode, ServiceError } from "../../protocol/errors.ts";
import { withDeadline } from "../async/deadline.ts";
import { RpcPeer } from "../async/rpc.ts";
import { succeeded } from "../async/succeeded.ts";

const SOCKET_FD = 3;
/** In UTF-16 units: an answer may hold the escaped output of git. */
const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
/** Messages to a worker that does not read them, in bytes: more than all calls that wait for a busy one. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Of the standard error, in bytes: it says why the process did not start. */
const MAX_STDERR_BYTES = 2_000;
/** More than one git command may take. */
const END_TIMEOUT_MS = 90_000;
const END_WAIT_MS = 3_000;

type WorkerCommand = {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** The worker's name in messages, and the code of errors of its calls. */
type WorkerErrors = { readonly name: string; readonly code: ErrorCode };

/** A running worker. It does not keep this process alive. */
export class WorkerProcess {
  readonly peer: RpcPeer;
  /** Resolves with the reason when it has ended; all calls fail then. */
  readonly ended: Promise<ServiceError>;
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  #isEnding = false;

  /** Throws `launch_failed` where no file descriptor is left. */
  constructor(command: WorkerCommand, errors: WorkerErrors) {
    this.#child = spawn(command.file, command.args, {
      // A signal to this process's terminal must not end it in the middle of a change.
      ...{ cwd: "/", env: command.env, detached: true },
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    // First: an error of the process that nobody handles would end this one.
    this.ended = endOf(this.#child, errors);
    // Without descriptors Node leaves the streams undefined.
    const socket = this.#child.stdio?.[SOCKET_FD];
    if (!(socket instanceof Socket))
      throw new ServiceError("launch_failed", `no ${errors.name}: this process has too many open files`);
    this.#socket = socket.unref();
    this.#child.unref();
    if (this.#child.stderr instanceof Socket) this.#child.stderr.unref();
    this.peer = new RpcPeer(socket, MAX_MESSAGE_LENGTH, MAX_QUEUED_BYTES);
    // A worker that does not read is not read: the answers to it would fill the memory.
    socket.on("data", () => {
      if (socket.writableNeedDrain) socket.pause();
    });
    socket.on("drain", () => socket.resume());
    void this.ended.then((reason) => this.peer.close(reason));
    socket.once("close", () => {
      if (!this.#isEnding) this.kill();
    });
  }

  /** It completes its changes and ends; after END_TIMEOUT_MS it is killed. Resolves at its end, or after END_WAIT_MS. */
  async end(): Promise<void> {
    setTimeout(() => this.kill(), END_TIMEOUT_MS).unref();
    this.#isEnding = true;
    this.#socket.end();
    await succeeded(withDeadline(this.ended, END_WAIT_MS, "the end of a worker"));
  }

  /** Its calls fail with `reason`. */
  kill(reason?: ServiceError): void {
    if (reason !== undefined) this.peer.close(reason);
    this.#child.kill("SIGKILL");
  }
}

function endOf(child: ChildProcess, { name, code }: WorkerErrors): Promise<ServiceError> {
  const { promise, resolve } = Promise.withResolvers<ServiceError>();
  let stderr = "";
  child.stderr?.on("data", (piece: Buffer) => {
    stderr = (stderr + piece.toString("latin1")).slice(-MAX_STDERR_BYTES);
  });
  child.once("error", (cause) => resolve(new ServiceError("launch_failed", `no ${name}`, { cause })));
  child.once("close", (exitCode, signal) => {
    const reason = stderr
      .trim()
      .split("\n")
      .findLast((line) => /^(?:ttyhq|\w*Error)\b/.test(line));
    const why = reason === undefined ? `${signal ?? exitCode}` : `${signal ?? exitCode}: ${reason}`;
    resolve(new ServiceError(code, `the ${name} ended (${why}): try again`));
  });
  return promise;
}

/** In the worker: the peer of the process that started it. `ended`: called when that process closes the socket. */
export function parentPeer(ended: () => void): RpcPeer {
  const socket = new Socket({ fd: SOCKET_FD, readable: true, writable: true });
  const peer = new RpcPeer(socket, MAX_MESSAGE_LENGTH);
  socket.once("close", () => {
    peer.close(new ServiceError("shutting_down", "the process that started this worker has ended"));
    ended();
  });
  return peer;
}
