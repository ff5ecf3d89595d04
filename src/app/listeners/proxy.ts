// Trusted reverse proxies, and our own (contract 5.9).
import { randomBytes } from "node:crypto";
import type { Audit } from "../../audit/entry.ts";
import type { Gate } from "../../auth/gate.ts";
import type { OidcClient, ProxyServe } from "../../config/proxy-serve.ts";
import { type ClientOf, clientReader } from "../../http/client-address.ts";
import { Listener } from "../../http/listener.ts";
import { refuse, sendError } from "../../http/reply.ts";
import { traced, tracedUpgrade } from "../../http/traced.ts";
import { memoryRecords, type SharedRecordStore } from "../../lib/data/live-records.ts";
import { Seal } from "../../lib/seal.ts";
import { Secret } from "../../lib/secret.ts";
import { currentTrace } from "../../lib/trace.ts";
import type { Log } from "../../log.ts";
import type { ReverseProxy, ReverseProxyParts } from "../../proxy/reverse-proxy.ts";
import { namedIn } from "../gate.ts";
import type { ServerParts } from "../server-context.ts";
import { shortageLog, whenReady } from "./listeners.ts";

const SECRET_BYTES = 32;

type ProxyListener = AsyncDisposable & {
  readonly listener: Listener;
  readonly clientOf: ClientOf;
  readonly url: string;
  /** Forwards to the server at this port of 127.0.0.1 from now on. */
  leadTo(port: number): void;
};

type ProxyParts = ServerParts & {
  readonly gate: Pick<Gate, "login" | "users"> & { readonly proxyProof: Secret };
  readonly sharedRecords: SharedRecordStore | undefined;
  readonly audit: Audit;
};

/** Opened before the server's own listener, so that it is closed after it. */
export async function openProxyListener(proxyServe: ProxyServe, parts: ProxyParts): Promise<ProxyListener> {
  const { config, context, gate, log } = parts;
  const { trustedProxies: ranges } = config;
  const { proxyProof: proof } = gate;
  // Clients of the proxy itself must not use the proof.
  const clientOf = clientReader({ ranges });
  const audit: Audit = {
    write: (entry) => parts.audit.write({ ...entry, requestId: currentTrace()?.requestId }),
  };
  const { ReverseProxy } = await import("../../proxy/reverse-proxy.ts");
  await using stack = new AsyncDisposableStack();
  const ready = Promise.withResolvers<ReverseProxy>();
  const listener = stack.use(await openListener(proxyServe, ready.promise, log));
  const url = proxyServe.url ?? urlOf(proxyServe, context.hostname, listener.port);
  const { oidc } = proxyServe;
  const login = oidc && (await openLogin({ ...parts, oidc, origin: url, clientOf, audit }));
  const answers = { error: sendError, refuse };
  const proxy = stack.use(new ReverseProxy({ login, proof, clientOf, answers, log }));
  ready.resolve(proxy);
  log.info({ url }, "reverse proxy listening");
  const owned = stack.move();
  return {
    ...{ listener, url, clientOf: clientReader({ ranges, proof }) },
    leadTo: (port) => proxy.forwardTo(port),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function openListener(
  { listen, tls, clientCa, oidc }: ProxyServe,
  proxy: Promise<ReverseProxy>,
  log: Log,
): Promise<Listener> {
  const clients = clientCa && {
    ...{ ca: clientCa, isRequired: oidc === undefined },
    refused: (reason: string, address: string | undefined) =>
      log.debug({ reason, address }, "client certificate refused"),
  };
  const { request, upgrade } = whenReady(proxy);
  const handlers = {
    request: traced(request),
    upgrade: { ...upgrade, handle: tracedUpgrade(upgrade.handle) },
    onShortage: shortageLog(log),
  };
  const identity = clients === undefined ? tls : { ...tls, clients };
  return Listener.open({ ...listen, option: "--proxy-listen" }, handlers, identity);
}

async function openLogin(
  parts: ProxyParts & {
    readonly oidc: OidcClient;
    readonly origin: string;
    readonly clientOf: ClientOf;
  },
): Promise<ReverseProxyParts["login"]> {
  const { config, oidc, origin, gate, sharedRecords, clientOf, audit, log } = parts;
  // Imported on demand: only OpenID Connect needs its client library.
  const [{ Provider }, { OwnPages }, { ProviderLogins }] = await Promise.all([
    import("../../proxy/provider/provider.ts"),
    import("../../proxy/own-pages.ts"),
    import("../../proxy/provider/provider-logins.ts"),
  ]);
  const { users: named, groups } = namedIn(config.auth);
  const places = { callbackUrl: `${origin}/.proxy/callback`, loggedOutUrl: `${origin}/.proxy/logged-out` };
  const provider = new Provider({ ...oidc, ...places, claims: { ...oidc, named, groups } }, log);
  // For the log: each login asks again.
  provider.discover().catch(() => undefined);
  const now = (): number => Date.now();
  const records = sharedRecords ?? memoryRecords(now);
  const seal = sharedRecords?.seal ?? new Seal(new Secret(randomBytes(SECRET_BYTES)));
  const logins = new ProviderLogins({
    ...{ records, seal, now, random: Math.random },
    renew: (login) => provider.renew(login),
  });
  const pages = new OwnPages({
    ...{ provider, logins, seal, origin, clientOf, audit, log },
    mayLogIn: (user) => gate.users.mayLogIn(user, "proxy"),
    admit: (address, prove, reasonOf) => gate.login.admit("oidc", { address }, prove, reasonOf),
  });
  return { logins, pages };
}

/** The URL of a listener; wildcard addresses are replaced by the machine's name. */
export function urlOf(
  { listen, tls }: { readonly listen: { readonly host: string }; readonly tls: object | undefined },
  machine: string,
  port: number,
): string {
  const isEverywhere = listen.host === "0.0.0.0" || listen.host === "::";
  const host = isEverywhere ? machine : listen.host;
  return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
