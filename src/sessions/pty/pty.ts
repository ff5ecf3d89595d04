// A program in a pseudo-terminal, started by the native module or else by node-pty. Only fork and resize of node-pty are
// used: its Terminal class is slower, writes in a busy loop, and hangs up on programs that only redirected their streams.
import { closeSync, readdirSync, readFileSync, readSync, writeFileSync } from "node:fs";
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

/** Shared by all terminals: each read is processed before the next one. */
const READ_BUFFER = new Uint8Array(64 * 1024);
/** The kernel holds about 12 KB of output: a program that keeps writing must not block the process. */
const MAX_DRAIN_BYTES = 256 * 1024;
/** Intervals of reads from a terminal that no program has open: a program may open it again as /dev/tty. */
const FIRST_CHECK_MS = 10;
const LAST_CHECK_MS = 500;
/** Half of the memory: a larger host is still ended first. */
const PROGRAM_OOM_SCORE = 500;
const MAX_OOM_SCORE = 1_000;

export type PtyProgram = {
  /** Searched in the PATH of `env` unless it has a slash; also argv[0]. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path of a directory. */
  readonly cwd: string;
  readonly size: TerminalSize;
};

/** A clean exit has the program's code; death by signal n has 128+n and the signal's name (contract 2.2). */
export type PtyExit = { readonly exitCode: number; readonly signal?: string };

type PtyListener = {
  /** `chunk` is valid until the return. Must not throw. */
  onOutput(chunk: Uint8Array): void;
  /** Once, after the last byte of output, also after disposal; the descriptor is closed by then. */
  onEnd(exit: PtyExit): void;
};

/** Disposal closes the descriptor, which sends SIGHUP to the program whoever its user is. No output follows. */
export type Pty = Disposable & {
  /** Also the id of the terminal session and of its first process group. */
  readonly pid: number;
  /** Never blocks. Unread input is kept without a limit: check `pendingInputBytes`. */
  write(bytes: Uint8Array): void;
  /** Sends SIGWINCH. Does nothing once the program has ended. */
  resize(size: TerminalSize): void;
  /** Stops reading, so that the program blocks after about 12 KB. All output still precedes `onEnd`. */
  pause(): void;
  resume(): void;
  readonly pendingInputBytes: number;
};

/** Starts a program in a new terminal session. Throws `launch_failed`. `native`: of another system, for tests. */
export function spawnPty(program: PtyProgram, listener: PtyListener, native = thisSystem()): Pty {
  let master: Master | undefined;
  const ended = (code: number, signal: number): void => master?.exited(ptyExit(code, signal));
  const started = native.start(program, ended);
  try {
    master = new Master(native, started, listener);
    preferForOutOfMemory(started.pid);
    return master;
  } catch (error) {
    closeSync(started.fd);
    throw launchFailed("the terminal of a new session could not be set up", error);
  }
}

/** Without memory, the kernel ends a program and its children before the session host (proc(5), oom_score_adj). */
function preferForOutOfMemory(pid: number): void {
  try {
    const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
    writeFileSync(`/proc/${pid}/oom_score_adj`, `${Math.min(MAX_OOM_SCORE, own + PROGRAM_OOM_SCORE)}`);
  } catch {
    // Another system than Linux, or the program has ended already.
  }
}

/** `fd`: of the master, which later programs do not inherit. */
type Started = { readonly fd: number; readonly pid: number };
type OnExit = (code: number, signal: number) => void;
type Resize = (fd: number, cols: number, rows: number) => void;

type Native = { start(program: PtyProgram, onExit: OnExit): Started; readonly resize: Resize };

// biome-ignore format: one line for each kind of argument
type StartInPty = (
  path: string, args: readonly string[], env: readonly string[], cwd: string,
  cols: number, rows: number, onExit: OnExit,
) => Started | number;

/** The project's module in native/. */
type OwnModule = {
  setCloseOnExec(fd: number): void;
  /** Where Linux has pidfds. */
  readonly spawnInPty?: StartInPty;
  /** Slower, for macOS. */
  readonly forkInPty: StartInPty;
  readonly resizePty: Resize;
};

/** The `native` export of node-pty; uid and gid -1 are those of this process. */
type NodePty = {
  // biome-ignore format: one line for each kind of argument
  fork(
    file: string, args: readonly string[], env: readonly string[], cwd: string,
    cols: number, rows: number, uid: number, gid: number, isUtf8: boolean,
    helperPath: string, onExit: OnExit,
  ): Started;
  readonly resize: Resize;
};

/** Loaded on demand, since not every process hosts terminals. */
let loaded: Native | undefined;

function thisSystem(): Native {
  loaded ??= openNative(process.platform);
  return loaded;
}

export function openNative(platform: NodeJS.Platform): Native {
  try {
    const own: OwnModule = loadNative("ttyhq.node");
    closeInherited(platform, own.setCloseOnExec);
    const startInPty = platform === "darwin" ? own.forkInPty : own.spawnInPty;
    if (startInPty === undefined) return overNodePty(loadNative("pty.node"), own);
    return { start: (program, onExit) => startIn(startInPty, program, onExit), resize: own.resizePty };
  } catch (error) {
    const advice = "run `npm rebuild` with this version of Node";
    throw launchFailed(`the native modules for terminals cannot be loaded; ${advice}`, error);
  }
}

function overNodePty({ fork, resize }: NodePty, { setCloseOnExec }: OwnModule): Native {
  const start = ({ file, args, env, cwd, size }: PtyProgram, onExit: OnExit): Started => {
    try {
      const started = fork(file, args, pairs(env), cwd, size.cols, size.rows, -1, -1, true, "", onExit);
      // At once, so that no other program inherits this terminal.
      setCloseOnExec(started.fd);
      return started;
    } catch (error) {
      throw launchFailed("no new terminal: too many processes or terminals, or too little memory", error);
    }
  };
  return { start, resize };
}

/** Programs do not inherit descriptors that the parent of this process left open, such as a lock. */
function closeInherited(platform: NodeJS.Platform, setCloseOnExec: OwnModule["setCloseOnExec"]): void {
  for (const fd of readdirSync(platform === "darwin" ? "/dev/fd" : "/proc/self/fd").map(Number)) {
    try {
      if (fd > 2) setCloseOnExec(fd);
    } catch {
      // The descriptor of the directory, which is closed by now.
    }
  }
}

function startIn(startInPty: StartInPty, program: PtyProgram, onExit: OnExit): Started {
  const { file, args, env, cwd, size } = program;
  const path = file.includes("/") ? file : findProgram(file, { cwd, path: env.PATH ?? "" });
  if (path === undefined) throw launchFailed(`no program ${file}`, undefined);
  const spawn = (at: string, words: readonly string[]): Started | number =>
    startInPty(at, words, pairs(env), cwd, size.cols, size.rows, onExit);
  const started = spawn(path, [file, ...args]);
  // The shell runs a script without an interpreter line, as in execvp(3).
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
 * The master's descriptor. `#stream` owns it; disposal closes it when the program has ended, even if a background job still
 * has the terminal open. The end of the stream does not close it: that would hang up on a program that only redirected its
 * streams.
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

  /** The program has ended; the kernel holds the rest of its output. */
  exited(exit: PtyExit): void {
    this.#drain();
    this[Symbol.dispose]();
    this.#listener.onEnd(exit);
  }

  [Symbol.dispose](): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearTimeout(this.#exitCheck);
    this.#input[Symbol.dispose]();
    if (this.#release === undefined) this.#stream.destroy();
    else this.#release();
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

  /** Delivers the output in the kernel, at most MAX_DRAIN_BYTES. Returns its length. */
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
}

/** Reads `fd`. `onEnd` is called once, at the end or when the stream is destroyed; `release` closes the descriptor. */
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
  // On Linux the end of a terminal is EIO.
  stream.on("error", () => {});
  stream.on("end", () => stream.destroy());
  stream.resume();
  return stream;
}

/** The number of bytes read into READ_BUFFER; 0 without output, or when no program has the terminal open. */
function readNow(fd: number): number {
  try {
    return readSync(fd, READ_BUFFER);
  } catch {
    return 0;
  }
}
