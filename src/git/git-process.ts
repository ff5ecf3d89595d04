import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { isTimeout, withDeadline } from "../lib/async/deadline.ts";
import { isErrno } from "../lib/fs/atomic-file.ts";
import { ServiceError } from "../protocol/errors.ts";
import { GIT_STOP_GRACE_MS } from "./git-limits.ts";

/** Output is decoded as UTF-8. The code is -1 for a process that a signal ended. */
export type GitRun = { readonly stdout: string; readonly stderr: string; readonly code: number };

export type GitCommand = {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export type GitLimits = {
  readonly timeoutMs: number;
  /** Of each of its two streams. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Runs a program in a session of its own, so that it cannot ask at a terminal and can be killed as a group. Throws
 * `git_timeout`, `git_unavailable` without git, `git_busy` when the system is out of resources, `git_failed` over
 * `maxBytes`, or the reason of the signal.
 */
export async function runGit(
  command: GitCommand,
  { timeoutMs, maxBytes, signal }: GitLimits,
): Promise<GitRun> {
  signal?.throwIfAborted();
  const child = start(command);
  const tooLong = Promise.withResolvers<never>();
  const stdout = collected(child.stdout, maxBytes, tooLong.reject);
  const stderr = collected(child.stderr, maxBytes, tooLong.reject);
  try {
    const ending = Promise.race([ended(child), tooLong.promise]);
    const code = await withDeadline(ending, timeoutMs, "git", signal);
    return { stdout: stdout(), stderr: stderr(), code };
  } catch (error) {
    await end(child);
    throw isTimeout(error) && !signal?.aborted ? timedOut(command, timeoutMs) : error;
  }
}

function start({ file, args, env }: GitCommand): ChildProcess {
  try {
    return spawn(file, args, { cwd: "/", env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  } catch (cause) {
    // The arguments or the environment are too long.
    throw notRun(cause);
  }
}

/** The text of a stream so far. `stop` is called with an error for more than `maxBytes`. */
function collected(stream: Readable | null, maxBytes: number, stop: (error: unknown) => void): () => string {
  const pieces: Uint8Array[] = [];
  let length = 0;
  stream?.on("data", (piece: Uint8Array) => {
    length += piece.length;
    if (length <= maxBytes) pieces.push(piece);
    else stop(new ServiceError("git_failed", `git said more than ${maxBytes} bytes`));
  });
  return () => Buffer.concat(pieces).toString("utf8");
}

/** The exit code, after all output was read. */
async function ended(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("error", (cause) => reject(notRun(cause)));
  child.once("exit", () => void drain(child));
  child.once("close", (code) => resolve(code ?? -1));
  return await promise;
}

/**
 * Closes the streams of a process that has exited, which background programs of a hook may hold open. All output of git is in
 * the pipes by then: a turn of the event loop without output is the end. A pause would not be, as this process may be busy.
 */
async function drain({ stdout, stderr }: ChildProcess): Promise<void> {
  let pieces = 0;
  for (const stream of [stdout, stderr]) stream?.on("data", () => pieces++);
  let before: number;
  do {
    before = pieces;
    // The event loop reads between the two.
    await nextTurn();
    await nextTurn();
  } while (pieces > before);
  stdout?.destroy();
  stderr?.destroy();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, "exit");
  signalGroup(child.pid, "SIGTERM");
  const kill = setTimeout(signalGroup, GIT_STOP_GRACE_MS, child.pid, "SIGKILL");
  // A process that survives SIGKILL is blocked by a disk.
  await Promise.race([gone, pause(2 * GIT_STOP_GRACE_MS, undefined, { ref: false })]);
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

function timedOut({ args }: GitCommand, ms: number): ServiceError {
  const what = args.find((argument) => /^[a-z][a-z-]*$/.test(argument)) ?? "";
  return new ServiceError("git_timeout", `git ${what} took longer than ${ms} ms`);
}

function notRun(cause: unknown): ServiceError {
  if (isErrno(cause, "ENOENT")) {
    return new ServiceError("git_unavailable", "there is no git on this machine: install it", { cause });
  }
  // The system is short of processes, memory or files.
  if (isErrno(cause, "EAGAIN", "ENOMEM", "EMFILE", "ENFILE")) {
    return new ServiceError("git_busy", "the system has no room for git at the moment: try again", { cause });
  }
  return new ServiceError("git_failed", "git could not be run", { cause });
}
