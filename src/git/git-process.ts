import { type ChildProcess, spawn } from "node:child_process";
import { ServiceError } from "../protocol/errors.ts";
import { GIT_STOP_GRACE_MS } from "./git-limits.ts";

/** Output is decoded as UTF-8. The code of a process that a signal ended is KILLED. */
export type GitRun = { readonly stdout: string; readonly stderr: string; readonly code: number };

export const KILLED = -1;

export type GitCommand = {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: string | undefined;
};

export type GitLimits = {
  readonly timeoutMs: number;
  /** Of each of its two streams. */
  readonly maxBytes: number;
  /** The process is ended after so much output. */
  readonly enoughBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Background programs of a hook may hold the streams open; git's own output has been read by then. */
const DRAIN_MS = 100;

/**
 * Runs a program in a session of its own, so that it cannot ask at a terminal and can be killed as a group. Throws
 * `git_timeout`, `git_unavailable` without git, `git_busy` when the system is out of resources, `git_failed` over
 * `maxBytes`, or the reason of the signal.
 */
export async function runGit(command: GitCommand, limits: GitLimits): Promise<GitRun> {
  limits.signal?.throwIfAborted();
  const child = start(command);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<Stop>();
  const output = new Output(child, limits, stop);
  const timer = setTimeout(() => stop(timedOut(command, limits.timeoutMs)), limits.timeoutMs);
  const abort = (): void => stop({ reason: limits.signal?.reason });
  limits.signal?.addEventListener("abort", abort, { once: true });
  // Unread input is not an error; the exit code tells.
  child.stdin?.on("error", () => undefined).end(command.input);
  try {
    const first = await Promise.race([ended(child), stopped]);
    if (typeof first === "number") return output.finish(first);
    await end(child);
    if (first === "enough") return output.finish(0);
    throw first.reason;
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener("abort", abort);
  }
}

function start({ file, args, env, input }: GitCommand): ChildProcess {
  const stdin = input === undefined ? "ignore" : "pipe";
  try {
    return spawn(file, args, { cwd: "/", env, detached: true, stdio: [stdin, "pipe", "pipe"] });
  } catch (cause) {
    // The arguments or the environment are too long.
    throw notRun(cause);
  }
}

/** Why a process is ended early: enough output, or an error. */
type Stop = "enough" | { readonly reason: unknown };

/** The output of a process, at most `maxBytes` of each stream. */
class Output {
  readonly #stdout: Uint8Array[] = [];
  readonly #stderr: Uint8Array[] = [];

  constructor(child: ChildProcess, { maxBytes, enoughBytes }: GitLimits, stop: (stop: Stop) => void) {
    const tooMuch = new ServiceError("git_failed", `git said more than ${maxBytes} bytes`);
    for (const [stream, pieces] of [
      [child.stdout, this.#stdout],
      [child.stderr, this.#stderr],
    ] as const) {
      let length = 0;
      stream?.on("data", (piece: Uint8Array) => {
        length += piece.length;
        if (length <= maxBytes) pieces.push(piece);
        else stop({ reason: tooMuch });
        if (stream === child.stdout && length >= (enoughBytes ?? Infinity)) stop("enough");
      });
    }
  }

  finish(code: number): GitRun {
    return { stdout: textOf(this.#stdout), stderr: textOf(this.#stderr), code };
  }
}

function textOf(pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces).toString("utf8");
}

/** The exit code, after all output was read. */
async function ended(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("error", (cause) => reject(notRun(cause)));
  child.once("exit", () => {
    const drain = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, DRAIN_MS);
    child.once("close", () => clearTimeout(drain));
  });
  child.once("close", (code) => resolve(code ?? KILLED));
  return await promise;
}

async function end(child: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  signalGroup(child.pid, "SIGTERM");
  const kill = setTimeout(signalGroup, GIT_STOP_GRACE_MS, child.pid, "SIGKILL");
  // A process that survives SIGKILL is blocked by a disk.
  const giveUp = new Promise<void>((resolve) => setTimeout(resolve, 2 * GIT_STOP_GRACE_MS).unref());
  await Promise.race([gone, giveUp]);
  clearTimeout(kill);
  // Hooks and filters may have ignored SIGTERM.
  signalGroup(child.pid, "SIGKILL");
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}

function timedOut({ args }: GitCommand, ms: number): Stop {
  const what = args.find((argument) => /^[a-z][a-z-]*$/.test(argument)) ?? "";
  return { reason: new ServiceError("git_timeout", `git ${what} took longer than ${ms} ms`) };
}

/** The system is short of processes, memory or files. */
const NONE_LEFT = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"]);

function notRun(cause: unknown): ServiceError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ENOENT") {
    return new ServiceError("git_unavailable", "there is no git on this machine: install it", { cause });
  }
  if (NONE_LEFT.has(code)) {
    return new ServiceError("git_busy", "the system has no room for git at the moment: try again", { cause });
  }
  return new ServiceError("git_failed", "git could not be run", { cause });
}
