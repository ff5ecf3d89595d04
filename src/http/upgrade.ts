// GET /ws, and VibeTunnel's older sockets: from an upgrade request to a client of the hub. And tunnels of remotes to an HQ.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { RequestClaims } from "../auth/chain.ts";
import type { Gate } from "../auth/gate.ts";
import { enforcePolicy, type RequestPolicy } from "../auth/policy.ts";
import { type Principal, watcherOf } from "../auth/principal.ts";
import { requirePermission } from "../auth/roles.ts";
import type { Hub } from "../hub/hub.ts";
import { SOCKET_DIALECTS, type SocketDialect } from "../hub/legacy/socket-dialect.ts";
import type { Peer } from "../hub/outbox.ts";
import type { HubView } from "../hub/viewer/hub-view.ts";
import type { Viewer } from "../hub/viewer/viewer.ts";
import { withDeadline } from "../lib/async/deadline.ts";
import { refuseAmbiguous } from "../lib/net/request-head.ts";
import { currentTrace, inThisTrace } from "../lib/trace.ts";
import type { Log } from "../log.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/limits.ts";
import { tunnelOwner } from "../protocol/schemas/remote.ts";
import type { Tunnel } from "../remote/tunnel.ts";
import { tunnelOver } from "../remote/uplink.ts";
import { contextOf, type RequestAuditHook, type RequestContext } from "./audit-hook.ts";
import { claimsOf } from "./caller-credentials.ts";
import type { ClientOf } from "./client-address.ts";
import { refuse, statusOf, WEBSOCKET_VERSIONS } from "./reply.ts";
import type { RequestMeter } from "./request-meter.ts";
import { tracedUpgrade } from "./traced.ts";

const AUTHENTICATION_TIMEOUT_MS = 5_000;
/**
 * Time for a client to process the 101 alone: some attach their message listener only after the open event and lose
 * messages that arrive with the 101. Clients that have sent something do not wait.
 */
const OPENING_MS = 10;
/** Time for a client to answer the close when its login has ended. */
const CLOSE_TIMEOUT_MS = 500;
/** Close codes: of RFC 6455, and our own for an ended login, after the status 401. */
const GOING_AWAY = 1001;
const LOGIN_OVER = 4401;

/** Per user, so that others can still connect. */
export const MAX_USER_SOCKETS = 512;

const SWITCHING_PROTOCOLS = 101;

/** How a listener checks and reports requests, upgrades included. */
export type ListenerChecks = Pick<Gate, "authenticate" | "whenOver"> & {
  readonly clientOf: ClientOf;
  /** Undefined on a private unix socket, which no browser reaches. */
  readonly policy: RequestPolicy | undefined;
  readonly auditHook?: RequestAuditHook | undefined;
  readonly meter?: RequestMeter | undefined;
  readonly log: Log;
};

/** Checks whether the caller may open the tunnel of that remote. The result takes the tunnel. */
export type AdmitTunnel = (remoteId: string, principal: Principal) => Promise<(tunnel: Tunnel) => void>;

export type UpgradeOptions = ListenerChecks & {
  readonly hub: Hub;
  /** Only of an HQ. */
  readonly admitTunnel?: AdmitTunnel | undefined;
  /** The sessions as this client may use them; `undefined`: all of them. */
  readonly viewOf: ((principal: Principal, address: string | undefined) => HubView) | undefined;
};

export type Upgrade = {
  /** Answers an upgrade request whose socket has an error listener. Never throws. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes every WebSocket with 1001 and refuses new ones with `shutting_down`. */
  close(): void;
};

/** Without WebSockets. */
export const noUpgrade: Upgrade = {
  handle: (_, socket) => refuse(socket, new ServiceError("not_found", "no WebSockets are served here")),
  close: () => {},
};

export function createUpgrade(options: UpgradeOptions): Upgrade {
  const server = createWebSocketServer();
  let isClosed = false;
  const handle: Upgrade["handle"] = (request, socket, head) => {
    const seen = contextOf(request, options.clientOf(request));
    const passed = (status: number): void => {
      const endpoint = tunnelOwner(seen.path) === undefined ? "/ws" : "/api/remotes/:id/tunnel";
      options.meter?.passed({ endpoint, method: "GET", status, tookMs: performance.now() - seen.beganMs });
    };
    void admit(request, seen, options)
      .then(({ principal, check, open }) => {
        if (isClosed || options.hub.isLeaving)
          throw new ServiceError("shutting_down", "the server is shutting down");
        check?.();
        server.handleUpgrade(request, socket, head, (webSocket) => {
          options.auditHook?.({ ...seen, principal, outcome: { answer: undefined } });
          passed(SWITCHING_PROTOCOLS);
          try {
            open(webSocket, socket);
          } catch (error) {
            // After the 101 no other answer may follow.
            options.log.error({ error }, "client not connected");
            webSocket.terminate();
          }
        });
      })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError)) options.log.error({ error }, "handshake failed");
        options.auditHook?.({ ...seen, outcome: { error } });
        passed(statusOf(error));
        refuse(socket, error);
      });
  };
  return {
    handle: tracedUpgrade(handle),
    close: () => {
      isClosed = true;
      for (const client of server.clients) client.close(GOING_AWAY, "the server is shutting down");
    },
  };
}

/** Its handleUpgrade throws ServiceError `invalid_request`. */
function createWebSocketServer(): WebSocketServer {
  const limits = { maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false };
  const server = new WebSocketServer({ noServer: true, ...limits });
  server.on("headers", (headers) => headers.push(`X-Request-Id: ${currentTrace()?.requestId}`));
  // Without a listener the library answers in HTML.
  server.on("wsClientError", ({ message }) => {
    const details = { webSocketVersions: WEBSOCKET_VERSIONS };
    throw new ServiceError("invalid_request", `this is no WebSocket handshake: ${message}`, { details });
  });
  return server;
}

type Admitted = {
  readonly principal: Principal;
  /** Right before the 101: others connect in the meantime. */
  check?(): void;
  open(webSocket: WebSocket, socket: Duplex): void;
};

async function admit(
  request: IncomingMessage,
  seen: RequestContext,
  options: UpgradeOptions,
): Promise<Admitted> {
  refuseAmbiguous(request);
  // As it is written: no client sends a handshake with scheme and host.
  const [path = ""] = (request.url ?? "").split(/[?#]/, 1);
  const remoteId = options.admitTunnel && tunnelOwner(path);
  if (remoteId !== undefined) return await admitTunnel(request, seen, remoteId, options);
  const query = new URLSearchParams(request.url?.split("?", 2)[1]);
  const dialectOf = SOCKET_DIALECTS.get(path);
  if (path !== "/ws" && dialectOf === undefined)
    throw new ServiceError("not_found", `no WebSocket is served at ${path}, see /ws`);
  const where = { place: "websocket", queryToken: query.get("token") ?? undefined } as const;
  const principal = await authenticated(request, seen, where, options);
  const dialect = dialectOf?.(query);
  return {
    principal,
    check: () => refuseTooMany(options.hub, principal),
    open: (webSocket, socket) => {
      const viewer = connect(webSocket, { principal, address: seen.address }, dialect, options);
      // Called when everything before it, the 101, has been written to the socket.
      socket.write("", () => void setTimeout(() => viewer.welcome(), OPENING_MS).unref());
    },
  };
}

/** Takes the proofs that registrations take. */
async function admitTunnel(
  request: IncomingMessage,
  seen: RequestContext,
  remoteId: string,
  options: UpgradeOptions,
): Promise<Admitted> {
  const where = { place: "registry", queryToken: undefined } as const;
  const principal = await authenticated(request, seen, where, options);
  requirePermission(principal.rights, endpoints.registerRemote.need);
  const accept = await options.admitTunnel?.(remoteId, principal);
  return { principal, open: (webSocket) => accept?.(tunnelOver(webSocket)) };
}

async function authenticated(
  request: IncomingMessage,
  { method, host, origin }: RequestContext,
  where: Pick<RequestClaims, "place" | "queryToken">,
  options: UpgradeOptions,
): Promise<Principal> {
  if (method !== "GET") throw new ServiceError("method_not_allowed", "a handshake is a GET");
  const client = options.clientOf(request);
  if (options.policy !== undefined)
    enforcePolicy(options.policy, { method, isUpgrade: true, host, origin, asked: client });
  const check = options.authenticate(claimsOf(request, { ...where, address: client.address }));
  return await withDeadline(check, AUTHENTICATION_TIMEOUT_MS, "the login check");
}

/** Limits each user, and all guests of one link together. Without login callers cannot be told apart. */
export function refuseTooMany(hub: Pick<Hub, "clients">, { user, method }: Principal): void {
  if (method === "none" || method === "socket" || method === "hq") return;
  if (hub.clients.filter(({ identity }) => identity.user === user).length < MAX_USER_SOCKETS) return;
  throw new ServiceError("rate_limited", `${user} has ${MAX_USER_SOCKETS} connections: close some first`);
}

/** `dialect`: the protocol of a client that does not speak frames. */
function connect(
  webSocket: WebSocket,
  { principal, address }: { readonly principal: Principal; readonly address: string | undefined },
  dialect: SocketDialect | undefined,
  options: UpgradeOptions,
): Viewer {
  const who = { ...watcherOf(principal), address };
  const viewer = options.hub.connect(peerOf(webSocket, dialect), who, options.viewOf?.(principal, address));
  const { id } = viewer.identity;
  options.log.debug({ client: id, user: principal.user, address }, "client connected");
  const login = options.whenOver(principal, (reason) => {
    // Ignores further messages, however long the client takes to close.
    viewer[Symbol.dispose]();
    webSocket.close(LOGIN_OVER, reason);
    setTimeout(() => webSocket.terminate(), CLOSE_TIMEOUT_MS).unref();
  });
  const received = (data: RawData, isBinary: boolean): void => {
    if (dialect !== undefined) viewer.receive(dialect.toFrame(`${data}`));
    else if (!isBinary) viewer.receiveText();
    else if (data instanceof Uint8Array) viewer.receive(data);
  };
  webSocket.on("message", inThisTrace(received));
  for (const sign of ["ping", "pong"] as const) webSocket.on(sign, () => viewer.heard());
  const say = inThisTrace((fields: object, message: string): void =>
    options.log.debug({ client: id, ...fields }, message),
  );
  webSocket.on("error", (error) => say({ error }, "client broke the protocol"));
  webSocket.on("close", (code) => {
    say({ code, hello: viewer.hello }, "client left");
    login[Symbol.dispose]();
    viewer[Symbol.dispose]();
  });
  return viewer;
}

function peerOf(webSocket: WebSocket, dialect: SocketDialect | undefined): Peer {
  return {
    send: (frame, onSent) => {
      const message = dialect === undefined ? frame : dialect.fromFrame(frame);
      if (message === undefined) return queueMicrotask(onSent);
      // A failed send is never reported as sent, so that nothing more is offered to that client.
      webSocket.send(message, { binary: typeof message !== "string", compress: false }, (error) => {
        if (!(error instanceof Error)) onSent();
      });
    },
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    close: (code, reason) => webSocket.close(code, reason),
    ping: () => {
      if (webSocket.readyState === WebSocket.OPEN) webSocket.ping();
    },
    terminate: () => webSocket.terminate(),
  };
}
