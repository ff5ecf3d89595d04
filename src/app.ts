// The composition root: from a configuration to something that runs. Nothing else wires folders together.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { RequestListener } from "node:http";
import { chain, everyoneIs, neverOver } from "./auth/chain.ts";
import type { Gate } from "./auth/gate.ts";
import type { Config, HostConfig } from "./config/config.ts";
import { hostArguments } from "./config/host-arguments.ts";
import { Listener } from "./http/listener.ts";
import type { RateLimit } from "./http/rate-limit.ts";
import type { Routes } from "./http/route.ts";
import { createRouter } from "./http/router.ts";
import { authRoutes } from "./http/routes/auth-routes.ts";
import { serverRoutes } from "./http/routes/server-routes.ts";
import { sessionRoutes } from "./http/routes/session-routes.ts";
import { createUpgrade, type Upgrade } from "./http/upgrade.ts";
import { Hub } from "./hub/hub.ts";
import { isOwnVariable } from "./lib/own-variables.ts";
import { claimSocket, temporarySocketPath } from "./lib/unix-socket.ts";
import { createLogger, type Log, type LogDestination } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { ServiceError } from "./protocol/errors.ts";
import { PROTOCOL_REVISION } from "./protocol/frame.ts";
import type { Health } from "./protocol/health.ts";
import { HOST_START_TIMEOUT_MS } from "./protocol/limits.ts";
import { ensureHost, type HostProgram } from "./remote/host-process.ts";
import { RemoteSessions } from "./remote/remote-sessions.ts";
import type { SessionBackend } from "./sessions/backend.ts";
import { ControlDir } from "./sessions/control-dir.ts";
import type { Account } from "./sessions/launch.ts";
import { LocalSessions } from "./sessions/local-sessions.ts";
import { Screens } from "./sessions/screen.ts";

/** What the process was started with, as values. */
export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  readonly version: string;
  /** How this program is started again as a session host: node and main.ts, or main.js. */
  readonly node: string;
  readonly main: string;
  /** The built page. */
  readonly pageDir: string;
  readonly stderr: LogDestination;
};

export type RunningServer = AsyncDisposable & {
  /** Where its page is, as seen from this machine. */
  readonly url: string;
  /** Logs in once; there with `--login-link`. */
  readonly loginLink: string | undefined;
};

type Doors = { readonly request: RequestListener; readonly upgrade: Upgrade };

const now = (): number => performance.now();
const noLimit: RateLimit = async () => {};
const unlimited = { api: noLimit, sessions: noLimit };

/** The process that owns the terminals. Rejects with `host_exists` when another one owns the control directory. */
export async function startSessionHost(
  config: HostConfig,
  surroundings: Surroundings,
): Promise<AsyncDisposable & { readonly idle: () => Promise<boolean> }> {
  const log = logOf(config, surroundings);
  await using stack = new AsyncDisposableStack();
  const controlDir = new ControlDir(config.controlDir);
  const sessions = localSessions(config, surroundings, controlDir, log);
  const hub = stack.use(new Hub({ backend: sessions, now }));
  const recovered = Promise.withResolvers<void>();
  const routes: Routes = {
    ...sessionRoutes({ backend: sessions, viewersOf: (id) => hub.viewersOf(id) }),
    ...serverRoutes({
      ...{ hub, version: surroundings.version, metrics: metricsOf(sessions, hub) },
      health: healthOf(sessions, surroundings.version, "session-host"),
      ready: async () => {},
      mounted: () => Object.keys(routes),
    }),
  };
  const doors = privateDoors({ routes, hub, log, user: surroundings.account.user, ready: recovered.promise });
  const temporary = temporarySocketPath(controlDir.hostSocket, process.pid);
  stack.use(await Listener.open({ path: temporary }, doors));
  if (!(await claimSocket(temporary, controlDir.hostSocket))) {
    throw new ServiceError("host_exists", `another session host serves ${config.controlDir}`);
  }
  // Its sessions end first, while their viewers can be told and nobody takes this host for gone and starts another.
  stack.use(sessions);
  await sessions.recover();
  recovered.resolve();
  log.info({ controlDir: config.controlDir, version: surroundings.version }, "session host listening");
  const owned = stack.move();
  return {
    idle: async () =>
      hub.clients.length === 0 && (await sessions.list()).every(({ status }) => status === "exited"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The server: login, page and limits in front of a session host. */
export async function startServer(config: Config, surroundings: Surroundings): Promise<RunningServer> {
  const log = logOf(config, surroundings);
  for (const warning of config.warnings) log.warn({}, warning);
  await using stack = new AsyncDisposableStack();
  const controlDir = new ControlDir(config.controlDir);
  const backend = stack.use(await backendOf(config, surroundings, controlDir, log));
  const gate = await gateOf(config, controlDir, log);
  const hub = stack.use(new Hub({ backend, now }));
  const { account, version } = surroundings;
  const port = Promise.withResolvers<number>();
  const newLoginLink = async (): Promise<string> =>
    `${urlOf(config.listen.host, await port.promise)}/#login=${gate.links.issue(account.user)}`;
  const health = healthOf(backend, version, "standalone");
  const ready = async (): Promise<void> => void (await health());
  const routes: Routes = {
    ...sessionRoutes({ backend, viewersOf: (id) => hub.viewersOf(id) }),
    ...serverRoutes({
      ...{ hub, version, health, ready, metrics: metricsOf(backend, hub) },
      mounted: () => Object.keys(routes),
    }),
    ...authRoutes({ ...gate, newLoginLink, serverUser: account.user }),
  };
  const listener = stack.use(await openPublicDoor({ config, surroundings, routes, hub, gate, log }));
  port.resolve(listener.port);
  const doors = privateDoors({ routes, hub, log, user: account.user, ready: Promise.resolve() });
  stack.use(await openServerSocket(controlDir, doors, log));
  const url = urlOf(config.listen.host, listener.port);
  log.info({ url, version, controlDir: config.controlDir }, "server listening");
  const hasLink = config.auth.mode === "login" && config.auth.loginLink;
  const loginLink = hasLink ? await newLoginLink() : undefined;
  const owned = stack.move();
  return { url, loginLink, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts the session host of a control directory unless one answers there. */
export async function ensureSessionHost(config: HostConfig, surroundings: Surroundings): Promise<void> {
  await ensureHost(hostProgram(config, surroundings, new ControlDir(config.controlDir)));
}

/** Where the sessions are: in the session host's process, or in this one. */
async function backendOf(
  config: Config,
  surroundings: Surroundings,
  controlDir: ControlDir,
  log: Log,
): Promise<SessionBackend> {
  if (config.sessionHost === "inline") {
    const sessions = localSessions(config, surroundings, controlDir, log);
    await sessions.recover();
    return sessions;
  }
  const program = hostProgram(config, surroundings, controlDir);
  await ensureHost(program);
  const sessions = new RemoteSessions({
    target: { socketPath: controlDir.hostSocket },
    version: surroundings.version,
  });
  sessions.keep({
    ensure: () => ensureHost(program),
    onFailure: (error) => log.error({ error }, "session host not started"),
  });
  await sessions.connected(HOST_START_TIMEOUT_MS);
  return sessions;
}

function localSessions(
  config: HostConfig,
  { env, account }: Surroundings,
  controlDir: ControlDir,
  log: Log,
): LocalSessions {
  const { maxBytes, withInput } = config.recording;
  const screens = new Screens();
  return new LocalSessions({
    ...{ controlDir, env, account, log, now, screens },
    maxRecordingBytes: maxBytes,
    recordInput: withInput,
  });
}

function hostProgram(config: HostConfig, surroundings: Surroundings, controlDir: ControlDir): HostProgram {
  const { node, main, env } = surroundings;
  return {
    ...{
      node,
      main,
      controlDir: controlDir.path,
      socketPath: controlDir.hostSocket,
      logPath: controlDir.hostLog,
    },
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isOwnVariable(name))),
    args: [...hostArguments(config), "--exit-when-idle"],
  };
}

async function gateOf(config: Config, controlDir: ControlDir, log: Log): Promise<Gate> {
  // What only a server needs is not loaded into a session host: 15 MB of memory.
  const { createGate } = await import("./auth/gate.ts");
  return createGate({
    mode: config.auth,
    serverUser: config.serverUser,
    tokenSecret: config.tokenSecret,
    files: { secret: controlDir.secret, revokedTokens: controlDir.revokedTokens },
    log,
  });
}

/** The address that everybody can reach: with login, limits and the page. */
async function openPublicDoor(parts: {
  readonly config: Config;
  readonly surroundings: Surroundings;
  readonly routes: Routes;
  readonly hub: Hub;
  readonly gate: Gate;
  readonly log: Log;
}): Promise<Listener> {
  const { config, surroundings, routes, hub, gate, log } = parts;
  const { sessions, apiCalls } = config.rateLimits;
  const pageDir = existsSync(surroundings.pageDir) ? surroundings.pageDir : undefined;
  const { authenticate, whenOver } = gate;
  const common = { hub, log, policy: config.policy, authenticate, whenOver };
  const { createRateLimit } = await import("./http/rate-limit.ts");
  const rateLimits = { api: createRateLimit(apiCalls), sessions: createRateLimit(sessions) };
  const request = createRouter({ ...common, routes, pageDir, rateLimits });
  return Listener.open(config.listen, { request, upgrade: createUpgrade(common) });
}

/** A private unix socket: whoever can open it is `user`. Requests wait until `ready`. */
function privateDoors(parts: {
  readonly routes: Routes;
  readonly hub: Hub;
  readonly log: Log;
  readonly user: string;
  readonly ready: Promise<void>;
}): Doors {
  const { routes, hub, log, ready } = parts;
  const authenticate = chain([everyoneIs(parts.user, "socket")]);
  const common = { hub, log, policy: undefined, authenticate, whenOver: neverOver };
  const router = createRouter({ ...common, routes, pageDir: undefined, rateLimits: unlimited });
  const upgrade = createUpgrade(common);
  return {
    request: (request, response) => void ready.then(() => router(request, response)),
    upgrade: {
      handle: (request, socket, head) => void ready.then(() => upgrade.handle(request, socket, head)),
      close: () => upgrade.close(),
    },
  };
}

/** The server's own unix socket. A second server on the same control directory leaves it to the first. */
async function openServerSocket(controlDir: ControlDir, doors: Doors, log: Log): Promise<Listener> {
  const temporary = temporarySocketPath(controlDir.serverSocket, process.pid);
  const listener = await Listener.open({ path: temporary }, doors);
  if (!(await claimSocket(temporary, controlDir.serverSocket))) {
    log.warn({ controlDir: controlDir.path }, "another server serves this control directory, too");
  }
  return listener;
}

function healthOf(backend: SessionBackend, version: string, mode: Health["mode"]): () => Promise<Health> {
  const instanceId = randomUUID();
  const started = now();
  return async () => ({
    ...{ status: "healthy", version, mode, instanceId, pid: process.pid, protocol: PROTOCOL_REVISION },
    uptime: Math.floor((now() - started) / 1000),
    sessions: (await backend.list()).filter(({ status }) => status === "running").length,
    timestamp: new Date().toISOString(),
  });
}

function metricsOf(backend: SessionBackend, hub: Hub): Metrics {
  const metrics = createMetrics();
  const count = async (status: string): Promise<number> =>
    (await backend.list()).filter((record) => record.status === status).length;
  metrics.gauge("sessions_running", "Sessions whose program runs.", () => count("running"));
  metrics.gauge("sessions_exited", "Ended sessions that are still listed.", () => count("exited"));
  metrics.gauge("clients", "Open WebSocket connections.", () => hub.clients.length);
  return metrics;
}

function logOf({ log }: HostConfig, { stderr }: Surroundings): Log {
  return createLogger({ ...log, destination: stderr });
}

/** For a person on this machine: an address that stands for all of them is reached as localhost. */
function urlOf(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
