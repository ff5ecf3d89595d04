// What makes a server an HQ: the registry of its remotes, their sessions as one backend, and somebody who looks after them.
import type { Audit } from "../audit/entry.ts";
import { keptTokenSecret } from "../auth/secret.ts";
import type { AccessTokens } from "../auth/tokens/access-token.ts";
import type { Config } from "../config/config.ts";
import type { JoiningConfig } from "../config/fleet-role.ts";
import { Fleet } from "../hq/fleet.ts";
import { HealthCheck } from "../hq/health/health-check.ts";
import { askHealth, isAlive, refuseLoop } from "../hq/health/remote-health.ts";
import { Joining } from "../hq/joining/joining.ts";
import { JoiningFile, type JoiningStore } from "../hq/joining/joining-store.ts";
import { redisJoiningStore } from "../hq/joining/redis-joining-store.ts";
import { FileRegistryStore, registryFile } from "../hq/registry/file-store.ts";
import type { RedisRecords } from "../hq/registry/redis-records.ts";
import type { RunScript } from "../hq/registry/redis-scripts.ts";
import type { RedisRegistryStore } from "../hq/registry/redis-store.ts";
import { type IsAlive, Registry } from "../hq/registry/registry.ts";
import { TokenSeal } from "../hq/registry/token-seal.ts";
import { remoteTarget } from "../hq/remote-connection.ts";
import type { Routes } from "../http/route.ts";
import { joinRoutes, registrationGuard } from "../http/routes/join-routes.ts";
import { remoteRoutes } from "../http/routes/remote-routes.ts";
import type { SharedRecordStore } from "../lib/data/live-records.ts";
import type { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import { HEALTH_CHECK_INTERVAL_MS } from "../protocol/limits.ts";
import { RemoteSessions } from "../remote/remote-sessions.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";

export type Headquarters = AsyncDisposable & {
  readonly fleet: Fleet;
  readonly registry: Registry;
  readonly healthCheck: HealthCheck;
  /** Whether what keeps the registry can be reached; of one that is this HQ's alone, whether its file has all of it. */
  readonly isRegistryConnected: () => boolean;
  /** `tokens`: of the server, for the credentials of remotes. */
  readonly routes: (tokens: Pick<AccessTokens, "issueRemote">) => Routes;
  /** Logins and share links of all HQs that share the registry; `undefined`: this HQ has its own. */
  readonly records: SharedRecordStore | undefined;
  /** Who this HQ is to its remotes: the same as others with which it shares its registry. */
  readonly instanceId: () => string;
};

/** Lists are read anew within this long after a health check. */
const REFRESH_SPREAD_MS = HEALTH_CHECK_INTERVAL_MS * 0.8;

type HeadquartersConfig = Pick<Config, "role" | "tokenSecret" | "trustedCa">;

export async function openHeadquarters(parts: {
  readonly config: HeadquartersConfig;
  readonly controlDir: ControlDir;
  /** The HQ's own sessions, where it has some; disposed of with it. */
  readonly local: SessionBackend | undefined;
  readonly version: string;
  readonly instanceId: string;
  readonly audit: Audit;
  readonly log: Log;
}): Promise<Headquarters> {
  const { config, controlDir, local, version, instanceId, audit, log } = parts;
  const { trustedCa } = config;
  const ask = askHealth(trustedCa);
  await using stack = new AsyncDisposableStack();
  const secret = config.tokenSecret ?? (await keptTokenSecret(controlDir.secret, log));
  const redis = await sharedRegistry(config, instanceId, log);
  const stored = stack.use(redis?.store ?? ownStore(secret, controlDir, log));
  const isUp: IsAlive = (remote, timeoutMs) => isAlive(ask, remote, timeoutMs);
  const registry = stack.use(await Registry.open({ store: stored, isAlive: isUp, now: () => new Date() }));
  const records = await redis?.openRecords();
  const fleet = new Fleet({
    ...{ registry, local, log },
    targetOf: (remote) => remoteTarget(remote, trustedCa),
    connect: (target) => new RemoteSessions({ target, version }),
  });
  stack.use(fleet);
  const healthCheck = stack.use(
    new HealthCheck({
      ...{ registry, isAlive: isUp, lease: redis?.store.lease },
      onAlive: ({ name }) => refreshSoon(fleet, name),
      onDown: ({ id, name, url }) => {
        log.warn({ remote: name, url }, "remote does not answer");
        audit.write({ action: "remote.expire", result: "ok", remote: name, details: { id, url } });
      },
    }),
  );
  const sharedInstanceId = (): string => redis?.store.instanceId ?? instanceId;
  const store =
    redis === undefined ? await JoiningFile.open(controlDir.joining) : redisJoiningStore(redis.run);
  const joining = joiningAt(config, { store, secret, hqId: sharedInstanceId });
  const guard = registrationGuard(joining, joiningOf(config));
  const ofRemotes = remoteRoutes({
    ...{ registry, fleet, guard },
    refuseLoop: (request) => refuseLoop(ask, sharedInstanceId(), request),
  });
  const owned = stack.move();
  return {
    ...{ fleet, registry, healthCheck, records, instanceId: sharedInstanceId },
    routes: (tokens) => ({ ...ofRemotes, ...joinRoutes(joining, tokens) }),
    isRegistryConnected: () => stored.isConnected,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Of a remote that cannot be watched. Some time before the next health check: not all lists at once. */
function refreshSoon(fleet: Fleet, name: string): void {
  const refresh = (): void => void fleet.refreshUnwatched(name).catch(() => undefined);
  setTimeout(refresh, Math.random() * REFRESH_SPREAD_MS).unref();
}

function joiningOf({ role }: HeadquartersConfig): JoiningConfig {
  return role.kind === "hq" ? role.joining : { isOpen: false, isBasicTaken: true, token: undefined };
}

function joiningAt(
  config: HeadquartersConfig,
  {
    store,
    secret,
    hqId,
  }: { readonly store: JoiningStore; readonly secret: Secret; readonly hqId: () => string },
): Joining {
  const configured = joiningOf(config).token;
  return new Joining({ store, seal: new TokenSeal(secret), configured, hqId, now: () => Date.now() });
}

function ownStore(secret: Secret, controlDir: ControlDir, log: Log): FileRegistryStore {
  const path = controlDir.registry;
  return new FileRegistryStore({
    file: registryFile(path, secret),
    onSaveFailure: (error) => log.error({ error, path }, "registry not saved"),
    onSavedAgain: () => log.info({ path }, "registry saved again"),
    now: () => new Date(),
  });
}

type SharedRegistry = {
  readonly store: RedisRegistryStore;
  /** Once the registry is loaded. */
  readonly openRecords: () => Promise<RedisRecords>;
  readonly run: RunScript;
};

/** `undefined` where the registry is this HQ's alone. */
async function sharedRegistry(
  { role, tokenSecret, trustedCa }: HeadquartersConfig,
  replicaId: string,
  log: Log,
): Promise<SharedRegistry | undefined> {
  if (role.kind !== "hq" || role.sharedRegistry === undefined || tokenSecret === undefined) return undefined;
  // Whoever does not use it does without its memory.
  const { RedisFollower } = await import("../hq/registry/redis-follower.ts");
  const { RedisRegistryStore } = await import("../hq/registry/redis-store.ts");
  const { RedisRecords } = await import("../hq/registry/redis-records.ts");
  const seal = new TokenSeal(tokenSecret);
  const follower = new RedisFollower({
    address: role.sharedRegistry,
    ca: trustedCa,
    log,
    random: Math.random,
  });
  const store = new RedisRegistryStore({ follower, seal, replicaId, now: () => new Date() });
  const instanceId = (): string => store.instanceId;
  return {
    store,
    run: follower.run,
    openRecords: () => RedisRecords.open({ follower, seal, instanceId, now: () => Date.now() }),
  };
}
