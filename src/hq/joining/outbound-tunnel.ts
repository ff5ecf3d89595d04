// The remote's side of its tunnel to the HQ (--hq-dial): dials until it is disposed of.

import { setTimeout as pause } from "node:timers/promises";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { outsideTraces } from "../../lib/trace.ts";
import type { Log } from "../../log.ts";
import { errorMessage } from "../../protocol/errors.ts";
import {
  CONNECT_TIMEOUT_MS,
  HEALTH_CHECK_INTERVAL_MS,
  HEALTH_CHECK_TIMEOUT_MS,
  RECONNECT_QUICK_MS,
  RETRY_MAX_MS,
  STABLE_LINK_MS,
} from "../../protocol/limits.ts";
import type { OpenTunnel } from "../../remote/uplink.ts";

export type OutboundTunnelOptions = {
  readonly dial: (signal: AbortSignal) => Promise<OpenTunnel>;
  readonly log: Pick<Log, "info" | "warn">;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
};

export class OutboundTunnel implements AsyncDisposable {
  readonly #options: OutboundTunnelOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Ends the current pause between attempts. */
  #resting = new AbortController();
  #open: OpenTunnel | undefined;

  constructor(options: OutboundTunnelOptions) {
    this.#options = options;
    const { random } = options;
    this.#backoff = new Backoff({ firstMs: RECONNECT_QUICK_MS, maxMs: RETRY_MAX_MS, random });
    // It outlives the registration that opens it.
    this.#running = outsideTraces(() => this.#run());
  }

  /** The HQ answers, so a missing tunnel is dialled at once, and an open one is checked. */
  wake(): void {
    if (this.#open === undefined) this.#resting.abort();
    else void closeIfSilent(this.#open);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#open?.tunnel.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#resting = new AbortController();
      const began = performance.now();
      const reason = await this.#dialled().then(() => "connection lost", errorMessage);
      if (signal.aborted) return;
      if (performance.now() - began >= STABLE_LINK_MS) this.#backoff.reset();
      log.warn({ reason }, "no tunnel to the HQ");
      const either = AbortSignal.any([signal, this.#resting.signal]);
      await pause(this.#backoff.next(), undefined, { signal: either }).catch(() => undefined);
    }
  }

  async #dialled(): Promise<void> {
    const { dial, log } = this.#options;
    const what = "the answer of the HQ to the dialled tunnel";
    const open = await withDeadline(dial, CONNECT_TIMEOUT_MS, what, this.#stop.signal);
    this.#open = open;
    log.info({}, "tunnel to the HQ open");
    const checks = setInterval(() => void closeIfSilent(open), HEALTH_CHECK_INTERVAL_MS);
    await open.tunnel.closed;
    clearInterval(checks);
    this.#open = undefined;
  }
}

/** Notices a dead connection as soon as the HQ's health check does. */
async function closeIfSilent({ tunnel, ping }: OpenTunnel): Promise<void> {
  const answered = withDeadline(ping(), HEALTH_CHECK_TIMEOUT_MS, "the answer of the HQ to a ping");
  await answered.catch(() => tunnel.close());
}
