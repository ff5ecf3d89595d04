// The composition root: from a configuration to something that runs. Only this and app/ wire folders together.
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { openAccess } from "./app/access.ts";
import { type AuditLog, openAuditing, openAuditLog } from "./app/auditing.ts";
import type { Canary } from "./app/canary/canary.ts";
import { drain } from "./app/drain.ts";
import { openGate } from "./app/gate.ts";
import { openHeadquarters } from "./app/headquarters.ts";
import { healthOf } from "./app/health.ts";
import { openServerSocket, openSocket, privateHandlers, whenReady } from "./app/listeners/listeners.ts";
import { openServerListeners } from "./app/listeners/server-listeners.ts";
import { hostProgram, openLocalSessions } from "./app/own-sessions.ts";
import { Readiness } from "./app/readiness.ts";
import { openRemote } from "./app/remote.ts";
import { openOwnRole, type Role } from "./app/role.ts";
import type { ServerContext, ServerParts } from "./app/server-context.ts";
import { hostMetrics, serverMetrics } from "./app/server-metrics.ts";
import type { Config, HostConfig } from "./config/config.ts";
import type { RequestHandlers } from "./http/listener.ts";
import type { Routes } from "./http/route.ts";
import { authRoutes } from "./http/routes/auth-routes.ts";
import { avatarRoutes } from "./http/routes/avatar-routes.ts";
import { fileRoutes } from "./http/routes/file-routes.ts";
import { loginRoutes } from "./http/routes/login-routes.ts";
import { repositoryRoutes } from "./http/routes/repository-routes.ts";
import { serverRoutes } from "./http/routes/server-routes.ts";
import { sessionRoutes } from "./http/routes/session-routes.ts";
import { Hub } from "./hub/hub.ts";
import { createLogger, type Log } from "./log.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { ServiceError } from "./protocol/errors.ts";
import { ensureHost } from "./remote/host-process.ts";
import { openControlDir } from "./sessions/storage/control-dir.ts";

export type RunningServer = AsyncDisposable & {
  /** Where its page is, as seen from this machine. */
  readonly url: string;
  /** Logs in once; there with `--login-link`. */
  readonly loginLink: string | undefined;
  /** Where the server itself is found on this machine, where `url` is that of its reverse proxy. */
  readonly behind?: string | undefined;
};

export type RunningHost = AsyncDisposable & {
  /** Whether no program runs and no client is connected. */
  readonly idle: () => Promise<boolean>;
};

const now = performance.now.bind(performance);

/** The process that owns the terminals. Rejects with `host_exists` when another one owns the control directory. */
export async function startSessionHost(config: HostConfig, context: ServerContext): Promise<RunningHost> {
  const log = logOf(config, context);
  const { version, account } = context;
  await using stack = new AsyncDisposableStack();
  const controlDir = openControlDir(config.controlDir, config.hostSocket);
  const { backend: sessions, ...own } = await openLocalSessions(config, context, controlDir, log);
  const hub = stack.use(new Hub({ backend: sessions, now }));
  const recovered = Promise.withResolvers<void>();
  const readiness = new Readiness();
  const routes: Routes = {
    ...sessionRoutes({ sessionsOf: () => sessions, ownRequest: (request) => request, hub }),
    // The server in front has the limit.
    ...fileRoutes({ sessionsOf: () => sessions, maxUploadBytes: Number.POSITIVE_INFINITY }),
    ...serverRoutes({
      ...{ hub, version, metrics: hostMetrics(own, version), checkReady: () => readiness.check() },
      health: healthOf(sessions, { version, mode: "session-host", instanceId: randomUUID() }),
      mounted: () => Object.keys(routes),
    }),
    ...repositoryRoutes(own.repositories),
  };
  const handlers = privateHandlers({ routes, hub, log, user: account.user, asksForUsers: true });
  await mkdir(dirname(controlDir.hostSocket), { recursive: true, mode: 0o700 });
  const taken = new ServiceError("host_exists", `another session host serves ${config.controlDir}`);
  const served = whenReady(recovered.promise.then(() => handlers));
  stack.use(await openSocket(controlDir.hostSocket, served, taken));
  // Sessions end first, while the socket answers: viewers get the exit, and no server starts another host.
  stack.use(sessions);
  await own.begin();
  recovered.resolve();
  log.info({ controlDir: config.controlDir, version }, "session host listening");
  const owned = stack.move();
  return {
    idle: async () =>
      hub.clients.length === 0 &&
      (await sessions.list()).every(
        ({ status, recording }) => status === "exited" && recording !== "waiting",
      ),
    [Symbol.asyncDispose]: () => {
      readiness.drain();
      return owned.disposeAsync();
    },
  };
}

/** The server: login, page and limits in front of a session host, or of a fleet of servers. */
export async function startServer(config: Config, context: ServerContext): Promise<RunningServer> {
  const log = logOf(config, context);
  for (const warning of config.warnings) log.warn({}, warning);
  const { account, version } = context;
  await using stack = new AsyncDisposableStack();
  const controlDir = openControlDir(config.controlDir, config.hostSocket);
  const { promise: handlers, resolve: serve } = Promise.withResolvers<RequestHandlers>();
  const socket = stack.use(await openServerSocket(controlDir, handlers));
  const base = { config, context, controlDir, log, instanceId: randomUUID() };
  const audit = stack.use(await openAuditLog(base));
  const role = stack.use(await openRole({ ...base, audit }));
  const { backend, machineToken, records: sharedRecords, readiness, admitTunnel } = role;
  const gate = stack.use(await openGate({ ...base, machineToken, sharedRecords }));
  const hub = stack.use(new Hub({ backend, now }));
  const address = Promise.withResolvers<string>();
  // Each address logs the server's user in once.
  const newLoginLink = async () => `${await address.promise}/#login=${await gate.links.issue(account.user)}`;
  const health = healthOf(backend, { ...base, version, mode: config.role.kind }, role.health);
  const { metrics, meter } = serverMetrics({ ...base, role, hub, gate, audit });
  const access = stack.use(openAccess({ ...role, config, hub, gate, version }));
  const auditing = stack.use(await openAuditing({ ...base, audit, backend, access, gate }));
  const routes: Routes = {
    ...access.routes(async () => ({ url: await address.promise, isPublic: config.publicUrl !== undefined })),
    ...serverRoutes({
      ...{ hub, version, health, metrics, checkReady: () => readiness.check() },
      mounted: () => Object.keys(routes),
    }),
    ...loginRoutes(gate),
    ...authRoutes({ ...gate, newLoginLink, maxUploadBytes: config.maxUploadBytes }),
    readAudit: ({ query }) => audit.page(query),
    ...avatarRoutes({ serverUser: account.user, platform: process.platform, accounts: gate.accounts, now }),
    ...role.routes(gate.tokens),
  };
  const parts = { ...base, socket, serve, gate, sharedRecords, routes, hub, admitTunnel, ...auditing };
  const listeners = stack.use(await openServerListeners({ ...parts, metrics, meter }));
  const { url, behind, reachableAt } = listeners;
  address.resolve(config.publicUrl ?? url);
  stack.use(role.listening?.(reachableAt, () => hub.uplinks));
  log.info({ url, version, mode: config.role.kind, controlDir: config.controlDir }, "server listening");
  const loginLink = config.auth.mode === "login" && config.auth.loginLink ? await newLoginLink() : undefined;
  // The last that is put there is the first that is done.
  stack.defer(() => drain({ config, readiness, listeners, hub, log }));
  if (config.canary) stack.use(await openCanary({ ...base, role, metrics }));
  const owned = stack.move();
  return { url, loginLink, behind, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function openRole(parts: ServerParts & { readonly audit: AuditLog }): Promise<Role> {
  const { role } = parts.config;
  if (role.kind === "hq") {
    const own = role.hasSessions ? await openOwnRole(parts) : undefined;
    return await openHeadquarters({ ...parts, role, own });
  }
  const own = await openOwnRole(parts);
  return role.kind === "remote" ? await openRemote(parts, role, own) : own;
}

/** Starts the session host of a control directory unless one answers there. */
export async function ensureSessionHost(config: HostConfig, context: ServerContext): Promise<void> {
  await ensureHost(hostProgram(config, context, openControlDir(config.controlDir, config.hostSocket)));
}

/** Loaded on demand: few servers have it. */
async function openCanary(
  parts: ServerParts & { readonly role: Pick<Role, "machines">; readonly metrics: Metrics },
): Promise<Canary> {
  const { Canary } = await import("./app/canary/canary.ts");
  return new Canary(parts);
}

function logOf({ log }: HostConfig, { stderr }: ServerContext): Log {
  return createLogger({ ...log, destination: stderr });
}
