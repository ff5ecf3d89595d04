// An HQ: the registry of its remotes, their sessions as one backend, and the health check.
import type { Audit } from "../audit/entry.ts";
import { keptTokenSecret } from "../auth/secret.ts";
import type { AccessTokens } from "../auth/tokens/access-token.ts";
import type { Config } from "../config/config.ts";
import { Fleet } from "../hq/fleet.ts";
import { HealthCheck, type HealthCheckOptions } from "../hq/health/health-check.ts";
import { askHealth, isAlive, refuseLoop, withReports } from "../hq/health/remote-health.ts";
import { Joining } from "../hq/joining/joining.ts";
import type { RedisTables, RedisTablesOptions } from "../hq/registry/redis-tables.ts";
import { type IsAlive, Registry } from "../hq/registry/registry.ts";
import { TablesFile, tableFile } from "../hq/registry/tables-file.ts";
import { remoteTarget } from "../hq/remote-connection.ts";
import type { Remote } from "../hq/remote-state.ts";
import { Tunnels } from "../hq/tunnels.ts";
import type { Routes } from "../http/route.ts";
import { joinRoutes, type RegistrationGuard, registrationGuard } from "../http/routes/join-routes.ts";
import { remoteRoutes } from "../http/routes/remote-routes.ts";
import type { AdmitTunnel } from "../http/upgrade.ts";
import type { SharedRecordStore } from "../lib/data/live-records.ts";
import { Seal } from "../lib/seal.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { HEALTH_CHECK_INTERVAL_MS, MAX_REMOTE_RECORDS_LENGTH } from "../protocol/limits.ts";
import { DIALLED_URL } from "../protocol/schemas/remote.ts";
import { RemoteSessions, type RemoteSessionsOptions } from "../remote/remote-sessions.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { AuditLog } from "./auditing.ts";

export type Headquarters = AsyncDisposable & {
  readonly fleet: Fleet;
  readonly registry: Registry;
  readonly healthCheck: HealthCheck;
  /** Whether the shared registry is reachable, or the registry file is up to date. */
  readonly isRegistryConnected: () => boolean;
  /** `tokens` issues the credentials of remotes. */
  readonly routes: (tokens: Pick<AccessTokens, "issueRemote">) => Routes;
  readonly admitTunnel: AdmitTunnel;
  /** Logins and share links of all HQs that share the registry; `undefined`: this HQ has its own. */
  readonly records: SharedRecordStore | undefined;
  /** HQs that share a registry have the same id for their remotes. */
  readonly instanceId: () => string;
};

/** Time after a health check in which lists are refreshed. */
const REFRESH_SPREAD_MS = HEALTH_CHECK_INTERVAL_MS * 0.8;

export type HqRole = Extract<Config["role"], { kind: "hq" }>;

export async function openHeadquarters(parts: {
  readonly config: Pick<Config, "tokenSecret" | "trustedCa">;
  readonly role: HqRole;
  readonly controlDir: ControlDir;
  /** The HQ's own sessions, which it owns. */
  readonly local: SessionBackend | undefined;
  readonly version: string;
  readonly instanceId: string;
  readonly audit: Pick<AuditLog, "write" | "share">;
  readonly log: Log;
}): Promise<Headquarters> {
  const { config, role, controlDir, local, version, instanceId, audit, log } = parts;
  await using stack = new AsyncDisposableStack();
  const tunnels = stack.use(new Tunnels());
  const network = { ca: config.trustedCa, connect: tunnels.connect };
  const { ask, reportOf, failureOf } = withReports(askHealth(network));
  const seal = new Seal(config.tokenSecret ?? (await keptTokenSecret(controlDir.secret, log)));
  const redis = await openRedis(role, { ca: config.trustedCa, replicaId: instanceId, seal, log });
  const tables = stack.use(redis?.tables ?? registryFile(controlDir.registry, log));
  if (redis !== undefined) stack.use(await audit.share(redis.records.auditLines));
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
      ...{ registry, local, log },
      targetOf: (remote) => remoteTarget(remote, network),
      connect: (target, name) => new RemoteSessions({ target, version, limit: sessionLimit(name, log) }),
    }),
  );
  stack.use(registry.watch(({ kind, remote }) => void (kind === "left" && tunnels.close(remote.id))));
  const healthCheck = stack.use(
    checkHealth({ registry, isAlive: isUp, lease: redis?.tables.lease, failureOf, fleet, audit, log }),
  );
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
    ...{ fleet, registry, healthCheck, records: redis?.records, instanceId: hqId },
    admitTunnel: tunnelAdmission({ registry, guard, tunnels }),
    routes: (tokens) => ({ ...ofRemotes, ...joinRoutes(joining, tokens, registry) }),
    isRegistryConnected: () => tables.isConnected,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function sessionLimit(remote: string, log: Log): NonNullable<RemoteSessionsOptions["limit"]> {
  const onReached = (): void =>
    log.warn({ remote }, "the remote reports too many sessions: some are not listed");
  return { maxRecordsLength: MAX_REMOTE_RECORDS_LENGTH, onReached };
}

/** Never rejects. A key that cannot be looked up counts as enrolled. */
async function mayStay(joining: Joining, remote: Remote): Promise<boolean> {
  return remote.registeredByKey !== true || (await joining.isKnown(remote).catch(() => true));
}

function checkHealth(
  parts: Pick<HealthCheckOptions, "registry" | "isAlive" | "lease"> & {
    readonly failureOf: (remoteId: string) => string | undefined;
    readonly fleet: Fleet;
    readonly audit: Audit;
    readonly log: Log;
  },
): HealthCheck {
  const { failureOf, fleet, audit, log, ...checked } = parts;
  return new HealthCheck({
    ...checked,
    onAlive: ({ name }) => refreshSoon(fleet, name),
    onDown: ({ id, name, url }) => {
      log.warn({ remote: name, url, reason: failureOf(id) }, "remote does not answer");
      audit.write({ action: "remote.expire", result: "ok", remote: name, details: { id, url } });
    },
  });
}

/** A tunnel leads to one HQ, and the others of a shared registry would take its remote for dead. */
function unreachableTunnel(): ServiceError {
  return new ServiceError(
    "invalid_request",
    "this HQ shares its registry with others, which the tunnel of --hq-dial does not reach: give the remote an address, or an HQ without --registry-url",
  );
}

/** A tunnel belongs to a registered remote, and takes the credential that the registration took. */
function tunnelAdmission(parts: {
  readonly registry: Registry;
  readonly guard: RegistrationGuard;
  readonly tunnels: Tunnels;
}): AdmitTunnel {
  const { registry, guard, tunnels } = parts;
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
function refreshSoon(fleet: Fleet, name: string): void {
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
