// The public listener, the metrics listener and private unix sockets.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { bySocketCaller, chain, everyoneIs, neverOver } from "../../auth/chain.ts";
import type { Gate } from "../../auth/gate.ts";
import type { Config } from "../../config/config.ts";
import type { RequestAuditHook } from "../../http/audit-hook.ts";
import { type ClientOf, connectionOf } from "../../http/client-address.ts";
import type { RateLimit } from "../../http/limits/rate-limit.ts";
import { Listener, type RequestHandlers } from "../../http/listener.ts";
import { readPageFiles } from "../../http/page-files.ts";
import type { RequestMeter } from "../../http/request-meter.ts";
import type { Routes } from "../../http/route.ts";
import { createRouter, type RouterOptions } from "../../http/router.ts";
import { createUpgrade, noUpgrade, type UpgradeOptions } from "../../http/upgrade.ts";
import type { Hub } from "../../hub/hub.ts";
import type { SharedRecordStore } from "../../lib/data/live-records.ts";
import { addressKey } from "../../lib/net/address.ts";
import { claimSocket } from "../../lib/os/unix-socket.ts";
import type { Log } from "../../log.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { ControlDir } from "../../sessions/storage/control-dir.ts";
import type { ServerParts } from "../server-context.ts";

/** What the listeners of a server serve. */
export type Served = {
  readonly routes: Routes;
  readonly hub: Hub;
  readonly gate: Gate;
  readonly viewOf: UpgradeOptions["viewOf"];
  /** Only of an HQ. */
  readonly admitTunnel?: UpgradeOptions["admitTunnel"];
  readonly auditHook: RequestAuditHook;
  readonly meter: RequestMeter;
  /** Of HQs that share a registry. */
  readonly sharedRecords: SharedRecordStore | undefined;
};

/** The public address, with login, limits and the page. */
export async function openPublicListener(
  parts: ServerParts & Served & { readonly clientOf: ClientOf },
): Promise<Listener> {
  const { config, context, gate, clientOf, meter } = parts;
  const { createRateLimit } = await import("../../http/limits/rate-limit.ts");
  const { SharedCallCounts } = await import("../../http/limits/shared-call-counts.ts");
  const counts = parts.sharedRecords?.callCounts;
  const limitOf = (kind: "api" | "sessions", perMinute: number | undefined): RateLimit => {
    const store = counts && new SharedCallCounts({ counts, kind, now: () => performance.now() });
    return createRateLimit(perMinute, { store, onRefused: () => meter.limited.add(kind) });
  };
  const { sessions, apiCalls } = config.rateLimits;
  const handlers = handlersOf({
    ...parts,
    authenticate: gate.authenticate,
    whenOver: gate.whenOver,
    policy: config.policy,
    page: await readPageFiles(context.pageDir),
    avatars: gate.config.proxyAuth ? "https" : "own",
    rateLimits: { api: limitOf("api", apiCalls), sessions: limitOf("sessions", sessions) },
  });
  return Listener.open(config.listen, queued(handlers, clientOf), config.tls);
}

function handlersOf(options: RouterOptions & UpgradeOptions): RequestHandlers {
  const onShortage = shortageLog(options.log);
  return { request: createRouter(options), upgrade: createUpgrade(options), onShortage };
}

export function shortageLog(log: Log): NonNullable<RequestHandlers["onShortage"]> {
  return (isShort) => {
    if (isShort) log.error({}, "out of file descriptors: new connections are refused");
    else log.info({}, "file descriptors are left again");
  };
}

/** Queues all requests except the liveness probe. */
function queued({ request, upgrade, ...others }: RequestHandlers, clientOf: ClientOf): RequestHandlers {
  const queue = new RequestQueue();
  const keyOf = (incoming: IncomingMessage): string => addressKey(clientOf(incoming).address);
  return {
    ...others,
    request: (incoming, response) => {
      if (incoming.url === endpoints.livez.path) request(incoming, response);
      else queue.add(keyOf(incoming), () => request(incoming, response));
    },
    upgrade: {
      ...upgrade,
      handle: (incoming, ...socket) => queue.add(keyOf(incoming), () => upgrade.handle(incoming, ...socket)),
    },
  };
}

/** `--metrics-listen`: only metrics and probes, without TLS and login. */
export async function openMetricsListener(
  listen: NonNullable<Config["metricsListen"]>,
  { metrics, livez, readyz, ready }: Routes,
  { meter, log }: Pick<RouterOptions, "meter" | "log">,
): Promise<Listener> {
  const request = createRouter({
    routes: { metrics, livez, readyz, ready },
    authenticate: chain([everyoneIs("", "none")]),
    whenOver: neverOver,
    clientOf: connectionOf,
    policy: undefined,
    meter,
    log,
  });
  const place = { ...listen, option: "--metrics-listen" };
  const listener = await Listener.open(place, { request, upgrade: noUpgrade });
  log.info({ host: listen.host, port: listener.port }, "metrics listening");
  return listener;
}

type InternalParts = Pick<Served, "routes" | "hub"> &
  Partial<Pick<Served, "viewOf" | "auditHook" | "meter">> & { readonly log: Log };

/** For a private unix socket: callers are `user`, or with `asksForUsers` the user in the request. */
export function privateHandlers(
  parts: InternalParts & { readonly user: string; readonly asksForUsers?: boolean },
): RequestHandlers {
  const callers = parts.asksForUsers === true ? [bySocketCaller] : [];
  const authenticate = chain([...callers, everyoneIs(parts.user, "socket")]);
  return internalHandlers(parts, { authenticate, whenOver: neverOver });
}

/** Without limits and without the page. No browser reaches them. */
function internalHandlers(
  { routes, hub, viewOf, auditHook, meter, log }: InternalParts,
  login: Pick<UpgradeOptions, "authenticate" | "whenOver">,
): RequestHandlers {
  const parts = { routes, hub, viewOf, auditHook, meter, log };
  return handlersOf({ ...parts, ...login, clientOf: connectionOf, policy: undefined });
}

/** For the HQ's connections through the tunnel of this remote. Only the HQ is admitted; this machine is not. */
export async function openTunnelListener(parts: ServerParts & Served): Promise<Listener> {
  const { gate, controlDir } = parts;
  const authenticate: UpgradeOptions["authenticate"] = async (claims) => {
    const principal = await gate.authenticate(claims);
    if (principal.method === "hq") return principal;
    throw new ServiceError("unauthorized", "only the HQ uses the tunnel of this remote");
  };
  const handlers = internalHandlers(parts, { authenticate, whenOver: gate.whenOver });
  return await openSocket(controlDir.tunnelSocket, queued(handlers, connectionOf));
}

/** Requests wait for the handlers. */
export function whenReady(handlers: Promise<RequestHandlers>): RequestHandlers {
  return {
    request: (...both) => void handlers.then(({ request }) => request(...both)),
    upgrade: {
      handle: (...handshake) => void handlers.then(({ upgrade }) => upgrade.handle(...handshake)),
      close: () => void handlers.then(({ upgrade }) => upgrade.close()),
    },
    onShortage: (isShort) => void handlers.then(({ onShortage }) => onShortage?.(isShort)),
  };
}

/** Listens at a path. Throws `taken` while another process listens there. */
export async function openSocket(
  path: string,
  handlers: RequestHandlers,
  taken = new ServiceError("start_failed", `another process listens on ${path}`),
): Promise<Listener> {
  await using stack = new AsyncDisposableStack();
  // Not named by the pid, which in a container is that of the process before: a killed one may have left its name.
  const temporary = `${path}.${randomUUID().slice(0, 8)}`;
  const listener = stack.use(await Listener.open({ path: temporary }, handlers));
  if (!(await claimSocket(temporary, path))) throw taken;
  stack.move();
  return listener;
}

/**
 * The socket locks the control directory until the process ends. Throws `start_failed` while another server has it: each
 * would overwrite the other's logins, shares and remotes.
 */
export async function openServerSocket(
  { path, serverSocket }: ControlDir,
  handlers: Promise<RequestHandlers>,
): Promise<Listener> {
  const way = "give this one another --control-dir, and HQs that share their remotes --registry-url as well";
  const taken = new ServiceError("start_failed", `another server runs on ${path}: ${way}`);
  return await openSocket(serverSocket, whenReady(handlers), taken);
}

/** Requests started per turn of the event loop; between turns sockets are served. */
const REQUESTS_A_TURN = 8;

/**
 * Keeps a burst of requests from delaying terminals and probes. Addresses alternate, so that a busy one delays others
 * by one request. Bounded by the listener's connections.
 */
export class RequestQueue {
  readonly #waiting = new Map<string, (() => void)[]>();
  #turn: NodeJS.Immediate | undefined;

  /** Calls `begin` in a later turn. */
  add(address: string, begin: () => void): void {
    const others = this.#waiting.get(address);
    if (others === undefined) this.#waiting.set(address, [begin]);
    else others.push(begin);
    this.#turn ??= setImmediate(() => this.#begin());
  }

  #begin(): void {
    for (let count = 0; count < REQUESTS_A_TURN; count += 1) this.#next()?.();
    this.#turn = this.#waiting.size > 0 ? setImmediate(() => this.#begin()) : undefined;
  }

  /** The oldest request of the address whose last request was longest ago. */
  #next(): (() => void) | undefined {
    for (const [address, requests] of this.#waiting) {
      const request = requests.shift();
      this.#waiting.delete(address);
      if (requests.length > 0) this.#waiting.set(address, requests);
      return request;
    }
    return undefined;
  }
}
