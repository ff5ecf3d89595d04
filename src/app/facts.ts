// What a server says of itself.
import type { Hub } from "../hub/hub.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { PROTOCOL_REVISION } from "../protocol/frame.ts";
import type { Health } from "../protocol/health.ts";
import type { SessionStatus } from "../protocol/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";

/** What of a health never changes, and the parts that an HQ and a remote have. */
export type Identity = Pick<Health, "version" | "mode" | "instanceId"> & {
  readonly remoteId?: string;
  /** Of an HQ that shares its registry with others: who they all are, in place of `instanceId`. */
  readonly sharedInstanceId?: () => string;
  readonly remotes?: () => number;
  readonly hqSessions?: boolean;
  /** Sessions whose program runs, where that is known without a walk over all of them. */
  readonly running?: () => number;
};

export function healthOf(backend: SessionBackend, identity: Identity): () => Promise<Health> {
  const { version, mode, remoteId, remotes, hqSessions } = identity;
  const instanceId = (): string => identity.sharedInstanceId?.() ?? identity.instanceId;
  const running = identity.running ?? (() => countOf(backend, "running"));
  const started = performance.now();
  return async () => ({
    ...{ status: "healthy", version, mode, pid: process.pid, protocol: PROTOCOL_REVISION },
    instanceId: instanceId(),
    uptime: Math.floor((performance.now() - started) / 1000),
    sessions: await running(),
    timestamp: new Date().toISOString(),
    ...(remoteId === undefined ? {} : { remoteId }),
    ...(remotes === undefined ? {} : { remotes: remotes() }),
    ...(hqSessions === undefined ? {} : { hqSessions }),
  });
}

export function metricsOf(backend: SessionBackend, hub: Hub): Metrics {
  const metrics = createMetrics();
  metrics.gauge("sessions_running", "Sessions whose program runs.", () => countOf(backend, "running"));
  metrics.gauge("sessions_exited", "Ended sessions that are still listed.", () => countOf(backend, "exited"));
  metrics.gauge("clients", "Open WebSocket connections.", () => hub.clients.length);
  return metrics;
}

async function countOf(backend: SessionBackend, status: SessionStatus): Promise<number> {
  return (await backend.list()).filter((record) => record.status === status).length;
}
