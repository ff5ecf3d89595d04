import { availableParallelism, loadavg } from "node:os";
import { singleFlight } from "../lib/async/single-flight.ts";
import { PROTOCOL_REVISION } from "../protocol/frame/frame.ts";
import type { Health } from "../protocol/schemas/health.ts";
import type { SessionBackend } from "../sessions/backend.ts";

/** The constant fields of the health, and those of an HQ or a remote. */
export type Identity = Pick<Health, "version" | "mode" | "instanceId"> & {
  readonly remoteId?: string;
  /** Of HQs that share a registry: replaces `instanceId`. */
  readonly sharedInstanceId?: () => string;
  readonly remotes?: () => number;
  readonly hqSessions?: boolean;
  readonly cordon?: { readonly isCordoned: boolean };
  /** The number of running sessions, if known without listing them. */
  readonly running?: () => number;
};

export function healthOf(backend: Pick<SessionBackend, "list">, identity: Identity): () => Promise<Health> {
  const { version, mode, remoteId, remotes, hqSessions, cordon } = identity;
  const instanceId = (): string => identity.sharedInstanceId?.() ?? identity.instanceId;
  const started = performance.now();
  // Requests are unlimited, and the list may be long.
  const counts = singleFlight(() => countsOf(backend));
  // Reading it anew would open the files of the control group each time.
  const cores = availableParallelism();
  return async () => ({
    ...{ status: "healthy", version, mode, pid: process.pid, protocol: PROTOCOL_REVISION },
    instanceId: instanceId(),
    uptime: Math.floor((performance.now() - started) / 1000),
    ...(identity.running === undefined ? await counts() : { sessions: identity.running() }),
    timestamp: new Date().toISOString(),
    load: machineLoad(cores),
    ...(remoteId === undefined ? {} : { remoteId }),
    ...(remotes === undefined ? {} : { remotes: remotes() }),
    ...(hqSessions === undefined ? {} : { hqSessions }),
    ...(cordon?.isCordoned ? { cordoned: true } : {}),
  });
}

function machineLoad(cores: number): number {
  const [lastMinute = 0] = loadavg();
  return Math.round((lastMinute / cores) * 100) / 100;
}

async function countsOf(
  backend: Pick<SessionBackend, "list">,
): Promise<Pick<Health, "sessions" | "unrecorded">> {
  const running = (await backend.list()).filter(({ status }) => status === "running");
  const unrecorded = running.filter(({ recording }) => recording !== undefined).length;
  return { sessions: running.length, ...(unrecorded === 0 ? {} : { unrecorded }) };
}
