// A cluster on this machine: an HQ and its remotes, as processes that end with it.
import { setTimeout as pause } from "node:timers/promises";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { answers } from "../../lib/os/unix-socket.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { clientAt, localSockets } from "../server.ts";
import { ClusterServer, type ServerParts, startFailure } from "./cluster-server.ts";
import { type ClusterOptions, hqPlan, remotePlans, type ServerPlan, type ServerReport } from "./plan.ts";

/** Concurrent starts: server and session host of a remote use a core for half a second. */
const STARTS_AT_A_TIME = 4;
const REGISTRATION_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

export type ClusterReport = Pick<ClusterOptions, "credentials"> & {
  readonly loginLink: string;
  readonly servers: readonly [hq: ServerReport, ...remotes: ServerReport[]];
};

/** Disposing ends the remotes with their sessions and then the HQ. */
type Cluster = AsyncDisposable & ClusterReport;

/** Resolves when every remote is registered. Rejects, as with `start_failed` and the end of a log, once nothing runs. */
export async function startCluster(
  parts: ClusterOptions & ServerParts,
  signal: AbortSignal,
): Promise<Cluster> {
  const hq = hqPlan(parts);
  await refuseSecond(hq, parts);
  await using stack = new AsyncDisposableStack();
  const { loginLink = "", ...first } = await stack.use(new ClusterServer(hq, parts)).start(signal);
  const plans = remotePlans(parts, first.url);
  const servers = plans.map((plan) => new ClusterServer(plan, parts));
  stack.defer(() => endAll(servers));
  const remotes = await startAll(servers, signal);
  await registered(hq, remotes, signal);
  const end = stack.move();
  const report = { loginLink, credentials: parts.credentials, servers: [first, ...remotes] } as const;
  return { ...report, [Symbol.asyncDispose]: () => end.disposeAsync() };
}

async function refuseSecond({ controlDir }: ServerPlan, parts: ClusterOptions): Promise<void> {
  if (!(await answers(localSockets(controlDir).server))) return;
  const message = `a cluster runs in ${parts.controlDir} already: stop it, or give another --control-dir`;
  throw new ServiceError("start_failed", message);
}

/** Rejects with the first failure. A server that is disposed of before its turn does not start. */
async function startAll(
  servers: readonly ClusterServer[],
  signal: AbortSignal,
): Promise<readonly ServerReport[]> {
  const reports: ServerReport[] = [];
  const waiting = servers.entries();
  const startOneByOne = async (): Promise<void> => {
    for (const [index, server] of waiting) reports[index] = await server.start(signal);
  };
  await Promise.all(Array.from({ length: STARTS_AT_A_TIME }, startOneByOne));
  return reports;
}

/** Waits for all; throws the first failure. */
async function endAll(servers: readonly ClusterServer[]): Promise<void> {
  const ends = await Promise.allSettled(servers.map((server) => server[Symbol.asyncDispose]()));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Compares addresses: a killed HQ remembers the remotes of an earlier run. */
async function registered(
  hq: ServerPlan,
  remotes: readonly ServerReport[],
  signal: AbortSignal,
): Promise<void> {
  const client = clientAt(localSockets(hq.controlDir).server);
  let missing = remotes;
  const all = async (stop: AbortSignal): Promise<void> => {
    for (;;) {
      const records = await client.call(endpoints.listRemotes);
      const urls = new Map(records.map(({ name, url }) => [name, url]));
      missing = remotes.filter(({ name, url }) => urls.get(name) !== url);
      if (missing.length === 0) return;
      await pause(POLL_MS, undefined, { signal: stop });
    }
  };
  try {
    await withDeadline(all, REGISTRATION_TIMEOUT_MS, "registration", signal);
  } catch (error) {
    const [first] = missing;
    if (!isTimeout(error) || first === undefined) throw error;
    throw await startFailure(first, `did not join the HQ within ${REGISTRATION_TIMEOUT_MS / 1000} s`);
  }
}
