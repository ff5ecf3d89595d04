// Graceful stop on SIGTERM, see docs/operations.md.
import { setTimeout as pause } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import type { Hub } from "../hub/hub.ts";
import type { Log } from "../log.ts";
import type { GoAway } from "../protocol/frame/payload.ts";
import { GOAWAY_AFTER_MS, GOAWAY_JITTER_PER_CLIENT_MS, MAX_GOAWAY_JITTER_MS } from "../protocol/limits.ts";
import type { ServerListeners } from "./listeners/server-listeners.ts";
import type { Readiness } from "./readiness.ts";

/** Share of the grace period for the work after the last connection: inline sessions, the HQ, files. */
const END_SHARE = 0.25;

export type DrainParts = {
  readonly config: Pick<Config, "drainDelayMs" | "graceMs">;
  readonly readiness: Readiness;
  readonly listeners: Pick<ServerListeners, "endKeepAlive" | "stop">;
  readonly hub: Pick<Hub, "clients" | "drain">;
  readonly log: Log;
};

/** One client leaves at once, thousands leave over seconds, within `forMs`. */
export function goAwayNotice(clients: number, forMs: number): GoAway {
  const jitterMs = Math.min(clients * GOAWAY_JITTER_PER_CLIENT_MS, MAX_GOAWAY_JITTER_MS, forMs / 2);
  const reason = "the server is shutting down";
  return {
    afterMs: Math.min(GOAWAY_AFTER_MS, Math.floor(forMs / 4)),
    jitterMs: Math.floor(jitterMs),
    reason,
  };
}

/**
 * Reports that it is not ready, sends GOAWAY to clients of /ws after `drainDelayMs`, then refuses new connections and
 * finishes answers and downloads. Resolves after at most three quarters of the grace period.
 */
export async function drain(parts: DrainParts): Promise<void> {
  const { readiness, listeners, hub, log } = parts;
  const { drainDelayMs: delayMs, graceMs } = parts.config;
  const end = performance.now() + graceMs * (1 - END_SHARE);
  const restMs = (): number => Math.max(0, end - performance.now());
  readiness.drain();
  listeners.endKeepAlive();
  log.info({ delayMs, graceMs, clients: hub.clients.length }, "draining");
  if (delayMs > 0) await pause(Math.min(delayMs, restMs()));
  await hub.drain(goAwayNotice(hub.clients.length, restMs()), Math.random);
  const { broken } = await listeners.stop(restMs());
  if (broken > 0) log.warn({ broken }, "answers broken off: the grace period is over");
  log.info({}, "drained");
}
