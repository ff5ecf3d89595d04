// All listeners of a server.
import { networkInterfaces } from "node:os";
import type { Audit } from "../../audit/entry.ts";
import type { RequestAuditHook } from "../../http/audit-hook.ts";
import { clientReader, inRanges } from "../../http/client-address.ts";
import type { Listener, RequestHandlers } from "../../http/listener.ts";
import { isLoopbackAddress, isLoopbackName } from "../../lib/net/address.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Log } from "../../log.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { ServerParts } from "../server-context.ts";
import {
  openMetricsListener,
  openPublicListener,
  openTunnelListener,
  privateHandlers,
  type Served,
} from "./listeners.ts";
import { openProxyListener, urlOf } from "./proxy.ts";

const PLAIN_HTTP =
  "plain HTTP: passwords and what is typed or shown can be read on the way: give --tls-cert and --tls-key, or put a proxy with TLS in front and name it with --trusted-proxy";

export type ServerListeners = AsyncDisposable & {
  readonly url: string;
  /** The server's own URL on this machine, if `url` is that of its reverse proxy. */
  readonly behind: string | undefined;
  /** The server's own URL for other machines. */
  readonly reachableAt: string;
  /** As of Listener, for those that serve sessions. */
  endKeepAlive(): void;
  stop(graceMs: number): Promise<{ readonly broken: number }>;
};

export async function openServerListeners(
  parts: ServerParts &
    Served & {
      readonly socket: Listener;
      /** Ends the wait of the socket's requests. */
      readonly serve: (handlers: RequestHandlers) => void;
      readonly gate: { readonly proxyProof: Secret };
      readonly audit: Audit;
      readonly metrics: Metrics;
    },
): Promise<ServerListeners> {
  const { config, context, routes, log } = parts;
  const { account, hostname } = context;
  await using stack = new AsyncDisposableStack();
  const { listen, tls, trustedProxies, metricsListen, proxyServe } = config;
  const proxy = proxyServe && stack.use(await openProxyListener(proxyServe, parts));
  const { clientOf } = proxy ?? { clientOf: clientReader({ ranges: trustedProxies }) };
  const ownAddresses = Object.values(networkInterfaces()).flatMap(
    (all) => all?.map(({ address }) => address) ?? [],
  );
  if (tls === undefined && trustedProxies.length === 0 && !isLoopbackName(listen.host))
    log.warn({ host: listen.host }, PLAIN_HTTP);
  const watch = warnOfTrustedRange({ ranges: trustedProxies, ownAddresses, log });
  const auditHook: RequestAuditHook = (seen) => {
    parts.auditHook(seen);
    watch(seen);
  };
  const publicListener = stack.use(await openPublicListener({ ...parts, auditHook, clientOf }));
  const { port } = publicListener;
  measureConnections(parts.metrics, proxy?.listener ?? publicListener);
  proxy?.leadTo(port);
  if (metricsListen !== undefined) stack.use(await openMetricsListener(metricsListen, routes, parts));
  const socket = stack.use(parts.socket);
  parts.serve(privateHandlers({ ...parts, user: account.user }));
  const isDialling = config.role.kind === "remote" && config.role.dials;
  const tunnel = isDialling ? [stack.use(await openTunnelListener(parts))] : [];
  const serving = [publicListener, socket, ...tunnel, ...(proxy ? [proxy.listener] : [])];
  const own = urlOf(config, "localhost", port);
  const { url } = proxy ?? { url: own };
  const owned = stack.move();
  return {
    ...{ url, behind: url === own ? undefined : own, reachableAt: urlOf(config, hostname, port) },
    endKeepAlive: () => serving.forEach((each) => void each.endKeepAlive()),
    stop: async (graceMs) => {
      const stopped = await Promise.all(serving.map((each) => each.stop(graceMs)));
      return { broken: stopped.reduce((sum, { broken }) => sum + broken, 0) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function measureConnections(metrics: Metrics, listener: Pick<Listener, "connections">): void {
  const now = () => listener.connections;
  metrics.gauge("connections", "Open connections to the public address.", () => now().open);
  metrics.gauge("connections_limit", "Connections over which no more are taken.", () => now().limit);
  metrics.counter("connections_refused_total", "Connections beyond the limit.", () => now().refused);
}

const REMEDY =
  "whoever types into a session there can forge its address: name the proxies alone with --trusted-proxy";

/**
 * Warns if the ranges include an address of this machine other than loopback, and once when a remote registers from one of
 * them.
 */
export function warnOfTrustedRange(parts: {
  readonly ranges: readonly { readonly address: string; readonly prefix: number }[];
  /** Of this machine or pod. */
  readonly ownAddresses: readonly string[];
  readonly log: Pick<Log, "warn">;
}): RequestAuditHook {
  const { ranges, ownAddresses, log } = parts;
  const isTrusted = inRanges(ranges);
  const own = ownAddresses.find((address) => !isLoopbackAddress(address) && isTrusted(address));
  if (own !== undefined) log.warn({ address: own }, `trusted proxies include this machine: ${REMEDY}`);
  let isTold = false;
  return ({ endpoint, address, outcome }) => {
    const isRegistered = endpoint === "registerRemote" && "answer" in outcome;
    if (isTold || !isRegistered || address === undefined || !isTrusted(address)) return;
    isTold = true;
    log.warn({ address }, `trusted proxies include a remote: ${REMEDY}`);
  };
}
