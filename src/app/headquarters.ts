// An HQ: the registry of its remotes, their sessions as one backend, and the health check.
import type { Audit } from "../audit/entry.ts";
import { remoteLineLimit } from "../audit/line-limit.ts";
import { keptTokenSecret } from "../auth/secret.ts";
import type { Config } from "../config/config.ts";
import { Fleet } from "../hq/fleet.ts";
import { HealthCheck } from "../hq/health/health-check.ts";
import { askHealth, isAlive, refuseLoop, withReports } from "../hq/health/remote-health.ts";
import { Joining } from "../hq/joining/joining.ts";
import type { RedisTables, RedisTablesOptions } from "../hq/registry/redis-tables.ts";
import { type IsAlive, Registry } from "../hq/registry/registry.ts";
import { TablesFile, tableFile } from "../hq/registry/tables-file.ts";
import { remoteTarget } from "../hq/remote-connection.ts";
import type { Remote } from "../hq/remote-state.ts";
import { Tunnels } from "../hq/tunnels.ts";
import { joinRoutes, type RegistrationGuard, registrationGuard } from "../http/routes/join-routes.ts";
import { remoteRoutes } from "../http/routes/remote-routes.ts";
import type { AdmitTunnel } from "../http/upgrade.ts";
import type { SharedRecordStore } from "../lib/data/live-records.ts";
import { Seal } from "../lib/seal.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { ServiceError } from "../protocol/errors.ts";
import { HEALTH_CHECK_INTERVAL_MS, MAX_REMOTE_RECORDS_LENGTH } from "../protocol/limits.ts";
import { DIALLED_URL, LOCAL } from "../protocol/schemas/remote.ts";
import { RemoteSessions } from "../remote/remote-sessions.ts";
import type { AuditLog } from "./auditing.ts";
import type { CanaryMachine } from "./canary/machine-canary.ts";
import { Readiness } from "./readiness.ts";
import type { OwnRole, Role } from "./role.ts";
import type { ServerParts } from "./server-context.ts";

/** Time after a health check in which lists are refreshed. */
const REFRESH_SPREAD_MS = HEALTH_CHECK_INTERVAL_MS * 0.8;

type HqRole = Extract<Config["role"], { kind: "hq" }>;

type HeadquartersParts = ServerParts & {
  readonly role: HqRole;
  /** The HQ's own sessions. Without them it has no repositories for users. */
  readonly own: OwnRole | undefined;
  readonly audit: AuditLog;
};

export async function openHeadquarters(parts: HeadquartersParts): Promise<Role> {
  const { role, own } = parts;
  await using stack = new AsyncDisposableStack();
  const tunnels = stack.use(new Tunnels());
  const opened = await openFleet(parts, tunnels, stack);
  const { fleet, registry, joining, redis, hqId, ask, reportOf } = opened;
  const healthCheck = checkHealth({ ...opened, ...parts }, stack);
  const guard = registrationGuard(joining, role.joining);
  const ofRemotes = remoteRoutes({
    ...{ registry, fleet, guard, reportOf },
    checkUrl: async (request) => {
      if (request.url !== DIALLED_URL) await refuseLoop(ask, hqId(), request);
      else if (redis !== undefined) throw unreachableTunnel();
    },
  });
  const owned = stack.move();
  return {
    ...{ backend: fleet, cordon: own?.cordon, records: redis?.records },
    admitTunnel: tunnelAdmission(registry, guard, tunnels),
    routes: (tokens) => ({ ...ofRemotes, ...joinRoutes(joining, tokens, registry), ...own?.routes(tokens) }),
    remotes: () => registry.remotes.map(({ name }) => name),
    machines: () => machinesOf(registry, own),
    readiness: new Readiness({
      obstacle: redis === undefined ? undefined : startingUntil(fleet.introduced),
      leave: () => own?.readiness.drain(),
    }),
    health: () => ({
      ...{ hqSessions: own !== undefined, instanceId: hqId(), ...own?.health() },
      ...{ remotes: registry.size, sessions: fleet.running },
    }),
    measure: (metrics) => {
      measureFleet(metrics, opened, healthCheck);
      own?.measure(metrics);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The remotes, alone or shared with other HQs, and the sessions of all machines. */
async function openFleet(parts: HeadquartersParts, tunnels: Tunnels, stack: AsyncDisposableStack) {
  const { config, context, controlDir, instanceId, role, own, audit, log } = parts;
  const network = { ca: config.trustedCa, connect: tunnels.connect };
  const { ask, reportOf, failureOf } = withReports(askHealth(network));
  const seal = new Seal(config.tokenSecret ?? (await keptTokenSecret(controlDir.secret, log)));
  const redis = await openRedis(role, { ca: config.trustedCa, replicaId: instanceId, seal, log });
  const tables = stack.use(redis?.tables ?? registryFile(controlDir.registry, log));
  if (redis !== undefined) stack.use(await audit.share(redis.records.auditLines));
  // HQs that share a registry have the same id for their remotes.
  const hqId = (): string => redis?.tables.instanceId ?? instanceId;
  const joining = new Joining({
    ...{ tables: redis?.tables ?? stack.use(await joiningFile(controlDir.joining)), seal, hqId },
    ...{ configured: role.joining.token, now: () => Date.now() },
  });
  const isUp: IsAlive = async (remote, timeoutMs) =>
    (await isAlive(ask, remote, timeoutMs)) && (await mayStay(joining, remote));
  const registry = stack.use(await Registry.open({ tables, seal, isAlive: isUp, now: () => new Date() }));
  const fleet = stack.use(
    new Fleet({
      ...{ registry, local: own?.backend, log },
      targetOf: (remote) => remoteTarget(remote, network),
      connect: (target, name) => {
        const onReached = (): void =>
          log.warn(
            { remote: name },
            "the remote reports too many sessions, or too large ones: some are not listed",
          );
        const limit = { maxRecordsLength: MAX_REMOTE_RECORDS_LENGTH, onReached };
        return new RemoteSessions({ target, version: context.version, limit });
      },
    }),
  );
  stack.use(registry.watch(({ kind, remote }) => void (kind === "left" && tunnels.close(remote.id))));
  return { fleet, registry, joining, redis, tables, hqId, ask, isUp, reportOf, failureOf };
}

type OpenFleet = Awaited<ReturnType<typeof openFleet>>;

function measureFleet(
  metrics: Metrics,
  { fleet, registry, tables }: OpenFleet,
  healthCheck: HealthCheck,
): void {
  metrics.gauge(
    "registry_connected",
    "Whether the registry is reachable and up to date: 1, or 0.",
    () => tables.isConnected,
  );
  metrics.gauge("remotes_unstored", "Remotes that are only in memory.", () => registry.unstored);
  metrics.gauge("remotes", "Remotes that are registered.", () => registry.size);
  metrics.gauge(
    "remotes_cordoned",
    "Remotes that start no new sessions.",
    () => registry.remotes.filter(({ cordoned }) => cordoned).length,
  );
  metrics.gauge("uplinks", "Open connections to remotes: at most one for each.", () => fleet.uplinks);
  metrics.counter("registrations_total", "Registrations of remotes.", () => registry.registrations);
  metrics.counter("probes_total", "Health checks of remotes, by result.", () => healthCheck.results);
  metrics.histogram(healthCheck.durations);
  metrics.counter("remotes_removed_total", "Remotes that did not answer.", () => healthCheck.removed);
}

function machinesOf(registry: Registry, own: OwnRole | undefined): readonly CanaryMachine[] {
  const remotes = registry.remotes.map(({ name, id, cordoned = false }) => {
    return { name, remoteId: id, isCordoned: cordoned };
  });
  if (own === undefined) return remotes;
  return [{ name: LOCAL, remoteId: LOCAL, isCordoned: own.cordon.isCordoned }, ...remotes];
}

/** Never rejects. A key that cannot be looked up counts as enrolled. */
async function mayStay(joining: Joining, remote: Remote): Promise<boolean> {
  return remote.registeredByKey !== true || (await joining.isKnown(remote).catch(() => true));
}

type HealthParts = Pick<OpenFleet, "registry" | "isUp" | "failureOf"> & {
  readonly redis: { readonly tables: Pick<RedisTables, "lease"> } | undefined;
  readonly fleet: Pick<Fleet, "refreshUnwatched">;
  readonly audit: Audit;
  readonly log: Pick<Log, "warn">;
};

/** A remote may register and stop answering without end, so the lines about that are limited. */
export function checkHealth(parts: HealthParts, stack: AsyncDisposableStack): HealthCheck {
  const { registry, isUp, redis, failureOf, fleet, audit, log } = parts;
  const expiries = stack.use(remoteLineLimit(audit, "remote.expire"));
  const check = new HealthCheck({
    ...{ registry, isAlive: isUp, lease: redis?.tables.lease },
    onAlive: ({ name }) => refreshSoon(fleet, name),
    onDown: ({ id, name, url }) => {
      log.warn({ remote: name, url, reason: failureOf(id) }, "remote does not answer");
      const entry = { action: "remote.expire", result: "ok", remote: name, details: { id, url } } as const;
      expiries.write(entry, name);
    },
  });
  return stack.use(check);
}

/** An HQ that starts beside others is ready once its list has the sessions of the remotes: until then the others serve. */
function startingUntil(introduced: Promise<unknown>): () => ServiceError | undefined {
  let isOver = false;
  void introduced.then(() => {
    isOver = true;
  });
  const details = { status: "starting" };
  const message = "the HQ does not know the sessions of its remotes yet";
  return () => (isOver ? undefined : new ServiceError("starting", message, { details }));
}

/** A tunnel leads to one HQ, and the others of a shared registry would take its remote for dead. */
function unreachableTunnel(): ServiceError {
  return new ServiceError(
    "invalid_request",
    "this HQ shares its registry with others, which the tunnel of --hq-dial does not reach: give the remote an address, or an HQ without --registry-url",
  );
}

/** A tunnel belongs to a registered remote, and takes the credential that the registration took. */
function tunnelAdmission(registry: Registry, guard: RegistrationGuard, tunnels: Tunnels): AdmitTunnel {
  return async (id, principal) => {
    await guard(principal, { id });
    const remote = registry.byId(id);
    if (remote?.url !== DIALLED_URL) {
      throw new ServiceError("remote_not_found", `no remote that dials is registered with the id ${id}`);
    }
    await guard(principal, remote);
    return (tunnel) => tunnels.accept(id, tunnel);
  };
}

/** Refreshes a remote that cannot be watched, at a random time before the next health check. */
function refreshSoon(fleet: Pick<Fleet, "refreshUnwatched">, name: string): void {
  const refresh = (): void => void fleet.refreshUnwatched(name).catch(() => undefined);
  setTimeout(refresh, Math.random() * REFRESH_SPREAD_MS).unref();
}

function registryFile(path: string, log: Log): TablesFile {
  return new TablesFile({
    file: tableFile(path),
    onSaveFailure: (error) => log.error({ error, path }, "registry not saved"),
    onSavedAgain: () => log.info({ path }, "registry saved again"),
  });
}

async function joiningFile(path: string): Promise<TablesFile> {
  const tables = new TablesFile({ file: tableFile(path) });
  await tables.load();
  return tables;
}

type SharedRegistry = { readonly tables: RedisTables; readonly records: SharedRecordStore };

/** `undefined` if the registry is this HQ's alone. Loaded on demand, to save memory. */
async function openRedis(
  { sharedRegistry: address }: HqRole,
  options: Omit<RedisTablesOptions, "address" | "random">,
): Promise<SharedRegistry | undefined> {
  if (address === undefined) return undefined;
  const { RedisTables } = await import("../hq/registry/redis-tables.ts");
  const { RedisRecords } = await import("../hq/registry/redis-records.ts");
  const tables = new RedisTables({ ...options, address, random: Math.random });
  return { tables, records: new RedisRecords({ ...options, tables, now: () => Date.now() }) };
}
