// A server of the cluster: a process that is started again when it ends by itself, and its session host.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { Backoff } from "../../lib/async/backoff.ts";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { unlessMissing } from "../../lib/fs/atomic-file.ts";
import { lastLines } from "../../lib/fs/log-tail.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";
import { RETRY_FIRST_MS, RETRY_MAX_MS } from "../../protocol/limits.ts";
import { hostHealth } from "../../remote/host-process.ts";
import { isRunning } from "../../sessions/pty/process-tree.ts";
import { openControlDir } from "../../sessions/storage/control-dir.ts";
import type { ProgramFiles } from "../process-context.ts";
import { localSockets } from "../server.ts";
import type { NamedServer, ServerPlan, ServerReport } from "./plan.ts";

export type ServerParts = {
  readonly program: ProgramFiles;
  readonly notice: (message: string) => void;
  /** Aborts a graceful stop. */
  readonly hurry: AbortSignal;
};

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;
const KILL_TIMEOUT_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;
const POLL_MS = 20;
const SHOWN_LOG_LINES = 12;
const LOG_TAIL_BYTES = 16_384;

/** Output of `ttyhq serve --json`. */
const Listening = z.object({ url: z.string(), loginLink: z.string().optional() });
type Listening = z.infer<typeof Listening>;

/** Disposing ends the server and its session host with all programs. */
export class ClusterServer implements AsyncDisposable {
  readonly #parts: ServerParts;
  readonly #stop = new AbortController();
  #plan: ServerPlan;
  #running: Promise<void> = Promise.resolve();

  constructor(plan: ServerPlan, parts: ServerParts) {
    this.#plan = plan;
    this.#parts = parts;
  }

  /**
   * Resolves when it listens; from then on it is started again when it ends, after half a second at first, 15 s at most.
   * Rejects with `start_failed` and the end of its log. Truncates the log.
   */
  async start(signal: AbortSignal): Promise<ServerReport & { readonly loginLink: string | undefined }> {
    const { name, controlDir } = this.#plan;
    writeFileSync(serverLog(openControlDir(controlDir).path), "", { mode: 0o600 });
    const started = Promise.withResolvers<Listening>();
    this.#running = this.#run(started, signal);
    const { url, loginLink } = await started.promise;
    return { name, url, controlDir, loginLink };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await endSessionHost(this.#plan.controlDir, this.#parts.hurry);
  }

  async #run(started: PromiseWithResolvers<Listening>, startSignal: AbortSignal): Promise<void> {
    const { signal } = this.#stop;
    const { notice } = this.#parts;
    const { name } = this.#plan;
    const stopped = once(signal, "abort");
    const backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random: Math.random });
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const since = performance.now();
      try {
        await using server = new ServerProcess(this.#plan, this.#parts);
        const listening = await server.listening(isFirst ? AbortSignal.any([signal, startSignal]) : signal);
        if (!isFirst) notice(`${name} serves again`);
        started.resolve(listening);
        // Keeps the port for restarts.
        this.#plan = { ...this.#plan, port: Number(new URL(listening.url).port || 80) };
        const how = await Promise.race([server.ended, stopped]);
        if (!signal.aborted) notice(`${name} ended (${how}), starting it again`);
      } catch (error) {
        if (isFirst) return started.reject(error);
        if (!signal.aborted) notice(errorMessage(error));
      }
      // Repeated quick ends increase the pause.
      if (performance.now() - since > RETRY_MAX_MS) backoff.reset();
      await pause(backoff.next(), undefined, { signal }).catch(() => undefined);
    }
  }
}

/**
 * Starts at once, in a process group of its own: Ctrl-C reaches only this process, which stops it. If this process is
 * killed, it stops at the end of its standard input. Appends its log to `server.log` in its control directory.
 */
class ServerProcess implements AsyncDisposable {
  /** How it ended, as `exit code 1` or `SIGKILL`. */
  readonly ended: Promise<string>;
  readonly #plan: ServerPlan;
  readonly #hurry: AbortSignal;
  readonly #child: ChildProcess;

  constructor(plan: ServerPlan, { program, hurry }: ServerParts) {
    this.#plan = plan;
    this.#hurry = hurry;
    const { controlDir, port, args, env } = plan;
    const log = openSync(serverLog(controlDir), "a");
    try {
      this.#child = spawn(program.node, [program.main, "serve", "--port", `${port}`, ...args], {
        ...{ detached: true, cwd: "/", env, stdio: ["pipe", "pipe", log] },
      });
    } finally {
      closeSync(log);
    }
    // `ended` reports the end; nothing is written to standard input.
    this.#child.stdin?.on("error", () => undefined);
    this.ended = endOf(this.#child);
  }

  /** Rejects with `start_failed` and the end of its log. */
  async listening(signal: AbortSignal): Promise<Listening> {
    const failed = this.ended.then(async (how) => {
      throw await startFailure(this.#plan, `did not start (${how})`);
    });
    try {
      const line = Promise.race([firstLine(this.#child), failed]);
      return Listening.parse(JSON.parse(await withDeadline(line, START_TIMEOUT_MS, "the start", signal)));
    } catch (error) {
      if (!isTimeout(error)) throw error;
      throw await startFailure(this.#plan, `did not start within ${START_TIMEOUT_MS / 1000} s`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    try {
      await withDeadline(this.ended, STOP_TIMEOUT_MS, "the end of the server", this.#hurry);
    } catch {
      this.#child.kill("SIGKILL");
      await this.ended;
    }
  }
}

function endOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once("error", ({ message }) => resolve(message));
  child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  return promise;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("standard output is no pipe");
  // Reads and drops later lines: a full pipe would block the server.
  const [line]: unknown[] = await once(createInterface({ input: stdout }), "line");
  return String(line);
}

export async function startFailure({ name, controlDir }: NamedServer, what: string): Promise<ServiceError> {
  const path = serverLog(controlDir);
  const lines = (await logTail(path, SHOWN_LOG_LINES)).map((line) => `  ${line}`);
  return new ServiceError("start_failed", [`${name} ${what}: see ${path}`, ...lines].join("\n"));
}

export async function logTail(path: string, lines: number): Promise<readonly string[]> {
  const end = (await lastLines(path, LOG_TAIL_BYTES).catch(unlessMissing)) ?? [];
  return end.filter((line) => line !== "").slice(-lines);
}

function serverLog(controlDir: string): string {
  return join(controlDir, "server.log");
}

/** Ends it with its programs, if there is one. `hurry` aborts the wait only. Throws `host_unreachable` if it is silent. */
async function endSessionHost(controlDir: string, hurry: AbortSignal): Promise<void> {
  const pid = await hostPid(controlDir);
  if (pid === undefined || (await isEnded(pid, "SIGTERM", STOP_TIMEOUT_MS, hurry)) || hurry.aborted) return;
  await isEnded(pid, "SIGKILL", KILL_TIMEOUT_MS, hurry);
}

async function hostPid(controlDir: string): Promise<number | undefined> {
  try {
    const health = hostHealth(localSockets(controlDir).host);
    return (await withDeadline(health, ANSWER_TIMEOUT_MS, "the health of the session host"))?.pid;
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    const message = `the session host in ${controlDir} does not answer: it was left running`;
    throw new ServiceError("host_unreachable", message, { cause });
  }
}

/** False on a timeout or abort. Polls, since the host is not a child of this process. */
async function isEnded(pid: number, name: NodeJS.Signals, ms: number, hurry: AbortSignal): Promise<boolean> {
  const ended = async (stop: AbortSignal): Promise<true> => {
    while (isRunning(pid)) await pause(POLL_MS, undefined, { signal: stop });
    return true;
  };
  if (isRunning(pid)) process.kill(pid, name);
  return await withDeadline(ended, ms, "the end of the session host", hurry).catch(() => false);
}
