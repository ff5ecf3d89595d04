// A cluster on this machine: an HQ and its remotes, as processes that end with it.
import { setTimeout as pause } from "node:timers/promises";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { answers } from "../../lib/os/unix-socket.ts";
import { createCaller } from "../../protocol/client/caller.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { RemoteRecord } from "../../protocol/schemas/remote.ts";
import { localSockets, socketSend } from "../server.ts";
import { ClusterMachine, type MachineNotice } from "./machine.ts";
import { type ClusterOptions, hqPlan, type MachineReport, remotePlans } from "./plan.ts";
import type { Listening, ProcessParts } from "./server-process.ts";

/** Concurrent starts: server and session host of a remote use a core for half a second. */
const STARTS_AT_A_TIME = 4;
const REGISTRATION_TIMEOUT_MS = 20_000;
/** Interval of checks for registered remotes. */
const POLL_MS = 50;

export type ClusterParts = ClusterOptions &
  ProcessParts & {
    /** Reports restarts to the user. */
    readonly notice: MachineNotice;
  };

/** Disposing ends the remotes with their sessions and then the HQ. */
export class Cluster implements AsyncDisposable {
  readonly #parts: ClusterParts;
  readonly #hq: ClusterMachine;
  #remotes: readonly ClusterMachine[] = [];
  #hqListening: Listening = { url: "" };

  private constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#hq = new ClusterMachine(hqPlan(parts), parts);
  }

  /**
   * Resolves when every remote is registered. On an error or abort nothing is left running; `start_failed` has the end
   * of the log.
   */
  static async start(parts: ClusterParts, signal: AbortSignal): Promise<Cluster> {
    await refuseSecond(parts);
    await using stack = new AsyncDisposableStack();
    const cluster = stack.use(new Cluster(parts));
    await cluster.#start(signal);
    stack.move();
    return cluster;
  }

  get url(): string {
    return this.#hqListening.url;
  }

  get loginLink(): string {
    return this.#hqListening.loginLink ?? "";
  }

  get hq(): MachineReport {
    return this.#hq;
  }

  get remotes(): readonly MachineReport[] {
    return this.#remotes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ends = await Promise.allSettled(this.#remotes.map((remote) => remote[Symbol.asyncDispose]()));
    await this.#hq[Symbol.asyncDispose]();
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  async #start(signal: AbortSignal): Promise<void> {
    this.#hqListening = await this.#hq.listening(signal);
    await this.#startRemotes(signal);
    await this.#registered(signal);
    for (const machine of [this.#hq, ...this.#remotes]) machine.keep(this.#parts.notice);
  }

  /** Waits for all starts, so that nothing starts during a stop; throws the first failure. */
  async #startRemotes(signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const stop = AbortSignal.any([signal, failed.signal]);
    const plans = remotePlans(this.#parts, this.url).values();
    const startOneByOne = async (): Promise<void> => {
      for (const plan of plans) {
        if (stop.aborted) return;
        try {
          const remote = new ClusterMachine(plan, this.#parts);
          this.#remotes = [...this.#remotes, remote];
          await remote.listening(stop);
        } catch (error) {
          failed.abort(error);
        }
      }
    };
    await Promise.all(Array.from({ length: STARTS_AT_A_TIME }, startOneByOne));
    stop.throwIfAborted();
  }

  async #registered(signal: AbortSignal): Promise<void> {
    const caller = createCaller(socketSend([localSockets(this.#hq.controlDir).server]));
    const machines = [this.#hq, ...this.#remotes];
    let missing = this.#remotes;
    const all = async (stop: AbortSignal): Promise<void> => {
      for (;;) {
        const records = await caller.call(endpoints.listRemotes);
        missing = this.#remotes.filter((remote) => !isRegistered(remote, records));
        if (missing.length === 0) return;
        await pause(POLL_MS, undefined, { signal: stop });
      }
    };
    try {
      const registration = withDeadline(all, REGISTRATION_TIMEOUT_MS, "registration", signal);
      await Promise.race([registration, ...machines.map((machine) => machine.ended())]);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      throw missing[0]?.failure(`did not join the HQ within ${REGISTRATION_TIMEOUT_MS / 1000} s`) ?? error;
    }
  }
}

/** Compares the address: a killed HQ remembers the remotes of an earlier run. */
function isRegistered(remote: ClusterMachine, records: readonly RemoteRecord[]): boolean {
  return records.some(({ name, url }) => name === remote.name && url === remote.url);
}

async function refuseSecond(options: ClusterOptions): Promise<void> {
  const { controlDir } = options;
  if (!(await answers(localSockets(hqPlan(options).controlDir).server))) return;
  const message = `a cluster runs in ${controlDir} already: stop it, or give another --control-dir`;
  throw new ServiceError("start_failed", message);
}
