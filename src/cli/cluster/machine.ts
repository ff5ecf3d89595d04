import { once } from "node:events";
import { truncateSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Backoff } from "../../lib/async/backoff.ts";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { RETRY_FIRST_MS, RETRY_MAX_MS } from "../../protocol/limits.ts";
import { hostHealth } from "../../remote/host-process.ts";
import { isRunning } from "../../sessions/pty/process-tree.ts";
import { localSockets } from "../server.ts";
import type { MachinePlan } from "./plan.ts";
import { type Listening, type ProcessParts, ServerProcess, serverLog } from "./server-process.ts";

export type MachineNotice = (message: string) => void;

/** A server of the cluster with its session host. Disposing ends both with all programs. */
export class ClusterMachine implements AsyncDisposable {
  readonly #parts: ProcessParts;
  readonly #stop = new AbortController();
  #plan: MachinePlan;
  #process: ServerProcess;
  #keeping: Promise<void> = Promise.resolve();
  #url = "";

  /** Truncates its log. */
  constructor(plan: MachinePlan, parts: ProcessParts) {
    this.#plan = plan;
    this.#parts = parts;
    truncate(serverLog(plan.controlDir));
    this.#process = new ServerProcess(plan, parts);
  }

  get name(): string {
    return this.#plan.name;
  }

  get controlDir(): string {
    return this.#plan.controlDir;
  }

  /** Empty until it listens. */
  get url(): string {
    return this.#url;
  }

  /** To be called once. Rejects with `start_failed`. */
  async listening(signal: AbortSignal): Promise<Listening> {
    const listening = await this.#process.listening(signal);
    this.#url = listening.url;
    // Keeps the port for restarts.
    this.#plan = { ...this.#plan, port: Number(new URL(listening.url).port || 80) };
    return listening;
  }

  /** Rejects with the end of its log when it ends; for races. */
  async ended(): Promise<never> {
    const process = this.#process;
    throw process.failure(`ended (${await process.ended})`);
  }

  /** `start_failed`, with the end of its log. */
  failure(what: string): Error {
    return this.#process.failure(what);
  }

  /** Restarts it when it ends by itself, after half a second at first, 15 s at most. */
  keep(notice: MachineNotice): void {
    this.#keeping = this.#keep(notice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#keeping;
    await this.#process[Symbol.asyncDispose]();
    await endSessionHost(this.controlDir, this.#parts.hurry);
  }

  async #keep(notice: MachineNotice): Promise<void> {
    const { signal } = this.#stop;
    const stopped = once(signal, "abort");
    const backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random: Math.random });
    for (;;) {
      const since = performance.now();
      const how = await Promise.race([this.#process.ended, stopped]);
      if (signal.aborted) return;
      notice(`${this.name} ended (${how}), starting it again`);
      // Repeated quick ends increase the pause.
      if (performance.now() - since > RETRY_MAX_MS) backoff.reset();
      await this.#restart(backoff, notice);
    }
  }

  async #restart(backoff: Backoff, notice: MachineNotice): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(backoff.next(), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        this.#process = new ServerProcess(this.#plan, this.#parts);
        await this.#process.listening(signal);
        notice(`${this.name} serves again`);
        return;
      } catch (error) {
        if (!signal.aborted) notice(error instanceof Error ? error.message : String(error));
        await this.#process[Symbol.asyncDispose]();
      }
    }
  }
}

function truncate(path: string): void {
  try {
    truncateSync(path);
  } catch {
    // There is no log before the first run.
  }
}

const ANSWER_TIMEOUT_MS = 5_000;
/** Ending its programs may take some seconds. */
const STOP_TIMEOUT_MS = 10_000;
/** After SIGKILL. */
const KILL_TIMEOUT_MS = 2_000;
const POLL_MS = 20;

/**
 * Ends the session host of a control directory with its programs, if any. An abort of `hurry` stops the wait only.
 * Throws `host_unreachable` for an unresponsive host.
 */
async function endSessionHost(controlDir: string, hurry: AbortSignal): Promise<void> {
  const pid = await hostPid(controlDir);
  if (pid === undefined) return;
  if (await isGone(pid, "SIGTERM", STOP_TIMEOUT_MS, hurry)) return;
  if (!hurry.aborted) await isGone(pid, "SIGKILL", KILL_TIMEOUT_MS, hurry);
}

/** False on a timeout or abort. Polls, since the host is not a child of this process. */
async function isGone(
  pid: number,
  signal: "SIGTERM" | "SIGKILL",
  ms: number,
  hurry: AbortSignal,
): Promise<boolean> {
  const gone = async (stop: AbortSignal): Promise<true> => {
    while (isRunning(pid)) await pause(POLL_MS, undefined, { signal: stop });
    return true;
  };
  if (isRunning(pid)) process.kill(pid, signal);
  return await withDeadline(gone, ms, "the end of the session host", hurry).catch(() => false);
}

async function hostPid(controlDir: string): Promise<number | undefined> {
  const { host } = localSockets(controlDir);
  try {
    return (await withDeadline(hostHealth(host), ANSWER_TIMEOUT_MS, "the health of the session host"))?.pid;
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    const message = `the session host in ${controlDir} does not answer: it was left running`;
    throw new ServiceError("host_unreachable", message, { cause });
  }
}
