// A program in a pseudo-terminal, started by the native module, or by node-pty where that cannot. Of node-pty only fork
// and resize are used: its Terminal class costs more for each read, writes with a busy loop, and hangs up on a program
// that only redirected its streams.
import { closeSync, readdirSync, readSync } from "node:fs";
import { Socket, type SocketConstructorOpts } from "node:net";
import { constants } from "node:os";
import type { DuplexOptions } from "node:stream";
import { ReadStream } from "node:tty";
import { getSystemErrorName } from "node:util";
import { loadNative } from "../../lib/os/installation.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import { PtyInput } from "./input.ts";
import { findProgram } from "./program-path.ts";

/** One for all terminals: a read must cost next to nothing, and is handed on before the next one begins. */
const READ_BUFFER = new Uint8Array(64 * 1024);
/** The kernel holds about 12 KB of output: more than this at once comes from a program that goes on writing. */
const MAX_DRAIN_BYTES = 256 * 1024;
/** How often a terminal that no program has open is looked at: a program may come back to it by /dev/tty. */
const FIRST_CHECK_MS = 10;
const LAST_CHECK_MS = 500;

export type PtyProgram = {
  /** Looked up on the PATH of `env` where it has no slash; the program gets it as argv[0]. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path of a directory. */
  readonly cwd: string;
  readonly size: TerminalSize;
};

/** A clean exit has the program's code; death by signal n has 128+n and the signal's name (contract 2.2). */
export type PtyExit = { readonly exitCode: number; readonly signal?: string };

export type PtyListener = {
  /** `chunk` is a view into a buffer that is overwritten after the return: copy what you keep. It must not throw. */
  onOutput(chunk: Uint8Array): void;
  /** Once, after the last byte of output; the descriptor is closed by then. */
  onEnd(exit: PtyExit): void;
};

/** Disposing hangs up: the descriptor is closed, the program gets SIGHUP, and the listener hears no more. */
export type Pty = Disposable & {
  /** Also the id of the terminal session and of its first process group. */
  readonly pid: number;
  /** Never blocks; what the program does not read yet waits, without a bound: look at `pendingInputBytes`. */
  write(bytes: Uint8Array): void;
  /** Tells the program by SIGWINCH. Does nothing once the program has ended. */
  resize(size: TerminalSize): void;
  /** Stops reading, so that the program stops at about 12 KB of output. What it wrote still comes before `onEnd`. */
  pause(): void;
  resume(): void;
  readonly pendingInputBytes: number;
};

/** Starts a program in a new terminal session. Throws ServiceError `launch_failed` where there is none to be had. */
export function spawnPty(program: PtyProgram, listener: PtyListener): Pty {
  loaded ??= openNative();
  const native = loaded;
  let master: Master | undefined;
  const ended = (code: number, signal: number): void => master?.exited(ptyExit(code, signal));
  const started = native.start(program, ended);
  try {
    master = new Master(native, started, listener);
    return master;
  } catch (error) {
    closeSync(started.fd);
    throw launchFailed("the terminal of a new session could not be set up", error);
  }
}

/** The master's descriptor, which programs that are started later do not inherit. */
type Started = { readonly fd: number; readonly pid: number };
type OnExit = (code: number, signal: number) => void;
type Resize = (fd: number, cols: number, rows: number) => void;

type Native = { start(program: PtyProgram, onExit: OnExit): Started; readonly resize: Resize };

/** The project's own module, native/. What starts programs is on Linux alone. */
type OwnModule = {
  setCloseOnExec(fd: number): void;
  // biome-ignore format: one line for each kind of argument
  spawnInPty?(
    path: string, args: readonly string[], env: readonly string[], cwd: string,
    cols: number, rows: number, onExit: OnExit,
  ): Started | number;
  readonly resizePty?: Resize;
};

/** What node-pty exports as `native`; a uid and gid of -1 are those of this process. */
type NodePty = {
  // biome-ignore format: one line for each kind of argument
  fork(
    file: string, args: readonly string[], env: readonly string[], cwd: string,
    cols: number, rows: number, uid: number, gid: number, isUtf8: boolean,
    helperPath: string, onExit: OnExit,
  ): Started;
  readonly resize: Resize;
};

/** Loaded once and by need: a process that hosts no terminals does without the native modules. */
let loaded: Native | undefined;

function openNative(): Native {
  try {
    const own: OwnModule = loadNative("ttyhq.node");
    closeInherited(own.setCloseOnExec);
    const { spawnInPty, resizePty } = own;
    if (spawnInPty === undefined || resizePty === undefined) return overNodePty(loadNative("pty.node"), own);
    return { start: (program, onExit) => spawnIn(spawnInPty, program, onExit), resize: resizePty };
  } catch (error) {
    const advice = "run `npm rebuild` with this version of Node";
    throw launchFailed(`the native modules for terminals cannot be loaded; ${advice}`, error);
  }
}

function overNodePty({ fork, resize }: NodePty, { setCloseOnExec }: OwnModule): Native {
  const start = ({ file, args, env, cwd, size }: PtyProgram, onExit: OnExit): Started => {
    try {
      const started = fork(file, args, pairs(env), cwd, size.cols, size.rows, -1, -1, true, "", onExit);
      // Before anything else is started, or that inherits this terminal.
      setCloseOnExec(started.fd);
      return started;
    } catch (error) {
      throw launchFailed("no new terminal: too many processes or terminals, or too little memory", error);
    }
  };
  return { start, resize };
}

/** What whoever started this process left open (a lock, a pipe of a job server) is nothing to the programs in it. */
function closeInherited(setCloseOnExec: OwnModule["setCloseOnExec"]): void {
  for (const fd of readdirSync("/proc/self/fd").map(Number)) {
    try {
      if (fd > 2) setCloseOnExec(fd);
    } catch {
      // The descriptor of the reading itself, which is closed by now.
    }
  }
}

function spawnIn(
  spawnInPty: NonNullable<OwnModule["spawnInPty"]>,
  program: PtyProgram,
  onExit: OnExit,
): Started {
  const { file, args, env, cwd, size } = program;
  const path = file.includes("/") ? file : findProgram(file, { cwd, path: env.PATH ?? "" });
  if (path === undefined) throw launchFailed(`no program ${file}`, undefined);
  const spawn = (at: string, words: readonly string[]): Started | number =>
    spawnInPty(at, words, pairs(env), cwd, size.cols, size.rows, onExit);
  const started = spawn(path, [file, ...args]);
  // A script that does not name its interpreter is one of the shell's, as execvp(3) has it.
  const found = started === -constants.errno.ENOEXEC ? spawn("/bin/sh", [file, path, ...args]) : started;
  if (typeof found === "object") return found;
  throw launchFailed(`${path} could not be started in ${cwd}: ${getSystemErrorName(found)}`, undefined);
}

function pairs(env: PtyProgram["env"]): string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

function launchFailed(message: string, cause: unknown): ServiceError {
  return new ServiceError("launch_failed", message, { cause });
}

function ptyExit(code: number, signal: number): PtyExit {
  if (signal === 0) return { exitCode: code };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { exitCode: 128 + signal, signal: name ?? `SIG${signal}` };
}

/**
 * The master's descriptor. `#stream` owns it, and closes it when `#close` says so and not before: when the program has
 * ended. A terminal that nobody has open any more (the stream ends) is kept until then, since closing it would hang up
 * on a program that only redirected its streams. A background job that still has it open is not waited for.
 */
class Master implements Pty {
  readonly pid: number;
  readonly #native: Native;
  readonly #fd: number;
  readonly #listener: PtyListener;
  readonly #input: PtyInput;
  readonly #stream: ReadStream;
  #state: "reading" | "looking" | "closed" = "reading";
  #isPaused = false;
  #exitCheck: NodeJS.Timeout | undefined;
  /** Closes the descriptor, once the stream has ended by itself. */
  #release: (() => void) | undefined;

  constructor(native: Native, { fd, pid }: Started, listener: PtyListener) {
    this.pid = pid;
    this.#native = native;
    this.#fd = fd;
    this.#listener = listener;
    this.#input = new PtyInput(fd);
    const onEnd = (release: () => void): void => this.#streamEnded(release);
    this.#stream = openStream(fd, (chunk) => listener.onOutput(chunk), onEnd);
  }

  get pendingInputBytes(): number {
    return this.#input.pendingBytes;
  }

  write(bytes: Uint8Array): void {
    this.#input.write(bytes);
  }

  resize(size: TerminalSize): void {
    if (this.#state !== "closed") this.#native.resize(this.#fd, size.cols, size.rows);
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#state === "reading") this.#stream.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#state === "reading") this.#stream.resume();
  }

  /** The program has ended: all that it wrote is in the kernel, where a read waits for what is on its way. */
  exited(exit: PtyExit): void {
    this.#drain();
    // A listener may have disposed of this while it got the last output.
    if (this.#state === "closed") return;
    this.#close();
    this.#listener.onEnd(exit);
  }

  [Symbol.dispose](): void {
    if (this.#state !== "closed") this.#close();
  }

  #streamEnded(release: () => void): void {
    if (this.#state === "closed") {
      release();
      return;
    }
    this.#release = release;
    this.#state = "looking";
    this.#drain();
    this.#checkExitIn(FIRST_CHECK_MS);
  }

  #checkExitIn(delayMs: number): void {
    if (this.#state === "closed") return;
    this.#exitCheck = setTimeout(() => {
      const isActive = !this.#isPaused && this.#drain() > 0;
      this.#checkExitIn(isActive ? FIRST_CHECK_MS : Math.min(delayMs * 2, LAST_CHECK_MS));
    }, delayMs);
  }

  /** Hands on what the kernel holds, at most MAX_DRAIN_BYTES, and returns how much that was, in bytes. */
  #drain(): number {
    let drained = 0;
    while (this.#state !== "closed" && drained < MAX_DRAIN_BYTES) {
      const length = readNow(this.#fd);
      if (length === 0) break;
      drained += length;
      this.#listener.onOutput(READ_BUFFER.subarray(0, length));
    }
    return drained;
  }

  #close(): void {
    this.#state = "closed";
    clearTimeout(this.#exitCheck);
    this.#input[Symbol.dispose]();
    if (this.#release === undefined) this.#stream.destroy();
    else this.#release();
  }
}

/**
 * Reads `fd` as it becomes readable. `onEnd` is called once, when there is nothing more to read in this way or the
 * stream was destroyed; the descriptor stays open until it calls the `release` that it is given.
 */
function openStream(
  fd: number,
  onChunk: (chunk: Uint8Array) => void,
  onEnd: (release: () => void) => void,
): ReadStream {
  const options: SocketConstructorOpts & DuplexOptions = {
    allowHalfOpen: true,
    onread: {
      buffer: READ_BUFFER,
      callback: (length) => {
        onChunk(READ_BUFFER.subarray(0, length));
        return true;
      },
    },
    destroy: (error, callback) => onEnd(() => Socket.prototype._destroy.call(stream, error, callback)),
  };
  const stream = new ReadStream(fd, options);
  // EIO is how the end of a terminal looks on Linux.
  stream.on("error", () => {});
  stream.on("end", () => stream.destroy());
  stream.resume();
  return stream;
}

/** The number of bytes read into READ_BUFFER; 0 when there are none now or no program has the terminal open. */
function readNow(fd: number): number {
  try {
    return readSync(fd, READ_BUFFER);
  } catch {
    return 0;
  }
}
