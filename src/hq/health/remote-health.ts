// The health of a remote, or of the HQ, as any server that keeps the specification tells it.
import { z } from "zod";
import { withDeadline } from "../../lib/async/deadline.ts";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import { createCaller } from "../../protocol/client/caller.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";
import {
  HEALTH_CHECK_INTERVAL_MS,
  HEALTH_CHECK_LATENESS_MS,
  HEALTH_CHECK_TIMEOUT_MS,
  LOOP_CHECK_TIMEOUT_MS,
  MAX_REMOTE_KEYS,
} from "../../protocol/limits.ts";
import type { RegisterRemote } from "../../protocol/schemas/remote.ts";
import { createSender } from "../../remote/send.ts";
import { type RemoteNetwork, remoteTarget } from "../remote-connection.ts";
import type { Remote } from "../remote-state.ts";

/** These fields may be missing: the specification does not require them. */
const AnyHealth = z.looseObject({
  instanceId: z.string().optional().catch(undefined),
  mode: z.string().optional().catch(undefined),
  remoteId: z.string().optional().catch(undefined),
  uptime: z.number().optional().catch(undefined),
  version: z.string().max(64).optional().catch(undefined),
  load: z.number().min(0).optional().catch(undefined),
});
export type RemoteHealth = z.infer<typeof AnyHealth>;

export const anyHealth = { ...endpoints.health, reply: { status: 200, json: AnyHealth } } as const;

export type AskHealth = (
  remote: Pick<Remote, "id" | "url" | "token">,
  signal: AbortSignal,
) => Promise<RemoteHealth>;

const REPORT_LIFETIME_MS = 4 * HEALTH_CHECK_INTERVAL_MS;

/** The last answer of a remote to this HQ, and the milliseconds that it took over a new connection. */
export type RemoteReport = Pick<RemoteHealth, "version" | "load"> & { readonly latencyMs: number };

/** Asks as `ask`, and remembers for some health checks the answer of each remote by its id, or why there was none. */
export function withReports(ask: AskHealth): {
  readonly ask: AskHealth;
  readonly reportOf: (remoteId: string) => RemoteReport | undefined;
  /** `undefined` if the remote answered, or its time ran out. */
  readonly failureOf: (remoteId: string) => string | undefined;
} {
  const now = (): number => performance.now();
  const limits = { lifetimeMs: REPORT_LIFETIME_MS, maxEntries: MAX_REMOTE_KEYS };
  const reports = new ExpiringMap<string, RemoteReport>({ ...limits, now });
  const failures = new ExpiringMap<string, string>({ ...limits, now });
  return {
    ask: async (remote, signal) => {
      const began = now();
      failures.delete(remote.id);
      const health = await ask(remote, signal).catch((error: unknown) => {
        if (!signal.aborted) failures.set(remote.id, errorMessage(error));
        throw error;
      });
      const { version, load, remoteId = remote.id } = health;
      const latencyMs = Math.round((now() - began) * 10) / 10;
      if (remoteId === remote.id) reports.set(remote.id, { version, load, latencyMs });
      return health;
    },
    reportOf: (remoteId) => reports.get(remoteId),
    failureOf: (remoteId) => failures.get(remoteId),
  };
}

/** Opens a new connection for each question, which also shows whether that is possible. */
export function askHealth(network: RemoteNetwork): AskHealth {
  return async (remote, signal) => {
    using sender = createSender(remoteTarget(remote, network));
    signal.addEventListener("abort", () => sender[Symbol.dispose](), { once: true });
    return await createCaller(sender.send).call(anyHealth);
  };
}

/**
 * Whether the remote answers, and no other one at its address. If the deadline fires clearly late, this process itself
 * stood still (stopped, swapped out, no CPU) and may have missed the answer, so it asks once more. `clock` in ms, monotonic.
 */
export async function isAlive(
  ask: AskHealth,
  remote: Pick<Remote, "id" | "url" | "token">,
  timeoutMs: number = HEALTH_CHECK_TIMEOUT_MS,
  clock: () => number = () => performance.now(),
): Promise<boolean> {
  const began = clock();
  const first = await healthOf(ask, remote, timeoutMs);
  const isVoid = clock() - began > timeoutMs + HEALTH_CHECK_LATENESS_MS;
  const health = first === undefined && isVoid ? await healthOf(ask, remote, timeoutMs) : first;
  return health !== undefined && (health.remoteId ?? remote.id) === remote.id;
}

/**
 * Throws `invalid_request` if the remote's url leads to this HQ or to another one, since requests would run in circles. A
 * remote that does not answer soon is accepted; the health check removes it if it stays silent.
 */
export async function refuseLoop(ask: AskHealth, instanceId: string, request: RegisterRemote): Promise<void> {
  const health = await healthOf(ask, request, LOOP_CHECK_TIMEOUT_MS);
  if (health === undefined) return;
  const isSelf = health.instanceId === instanceId;
  if (!isSelf && health.mode !== "hq") return;
  const message = isSelf ? "leads to this HQ itself" : "leads to an HQ";
  throw new ServiceError(
    "invalid_request",
    `url: ${request.url} ${message}: give the remote's own address with --remote-url`,
    { details: { issues: [{ path: "url", message }] } },
  );
}

/** `undefined` if the remote does not answer in time. */
async function healthOf(
  ask: AskHealth,
  remote: Pick<Remote, "id" | "url" | "token">,
  timeoutMs: number,
): Promise<RemoteHealth | undefined> {
  try {
    return await withDeadline((signal) => ask(remote, signal), timeoutMs, `the health of ${remote.url}`);
  } catch {
    return undefined;
  }
}
