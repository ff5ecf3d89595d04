// GET /ws, and VibeTunnel's older sockets: from an upgrade request to a client of the hub.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { LoginWatch, RequestClaims } from "../auth/chain.ts";
import { enforcePolicy, type RequestPolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { Hub, HubClient } from "../hub/hub.ts";
import { SOCKET_DIALECTS, type SocketDialect } from "../hub/legacy/socket-dialect.ts";
import type { Peer } from "../hub/outbox.ts";
import type { HubView } from "../hub/viewer/viewer.ts";
import { withDeadline } from "../lib/async/deadline.ts";
import { refuseAmbiguous } from "../lib/net/request-head.ts";
import { currentTrace, inThisTrace } from "../lib/trace.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/limits.ts";
import { contextOf, type RequestAuditHook, type RequestContext } from "./audit-hook.ts";
import { claimsOf } from "./caller-credentials.ts";
import type { ClientOf } from "./client-address.ts";
import { refuse } from "./limits/refuse.ts";
import { statusOf } from "./reply.ts";
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

const WEB_SOCKET = { endpoint: "/ws", method: "GET" } as const;
const SWITCHING_PROTOCOLS = 101;

/** How a listener checks and reports requests, upgrades included. */
export type ListenerChecks = {
  readonly authenticate: (claims: RequestClaims) => Promise<Principal>;
  readonly whenOver: LoginWatch;
  readonly clientOf: ClientOf;
  /** Undefined on a private unix socket, which no browser reaches. */
  readonly policy: RequestPolicy | undefined;
  readonly auditHook?: RequestAuditHook | undefined;
  readonly meter?: RequestMeter | undefined;
  readonly log: Log;
};

export type UpgradeOptions = ListenerChecks & {
  readonly hub: Hub;
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
  const limits = { maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false };
  const server = new WebSocketServer({ noServer: true, ...limits });
  server.on("headers", (headers) => headers.push(`X-Request-Id: ${currentTrace()?.requestId}`));
  let isClosed = false;
  const handle: Upgrade["handle"] = (request, socket, head) => {
    const seen = contextOf(request, options.clientOf(request));
    const passed = (status: number): void =>
      options.meter?.passed({ ...WEB_SOCKET, status, tookMs: performance.now() - seen.beganMs });
    void admit(request, seen, options)
      .then(({ principal, dialect }) => {
        options.auditHook?.({ ...seen, principal, outcome: { answer: undefined } });
        if (isClosed || options.hub.isLeaving)
          throw new ServiceError("shutting_down", "the server is shutting down");
        refuseTooMany(options.hub.clients, principal);
        server.handleUpgrade(request, socket, head, (webSocket) => {
          passed(SWITCHING_PROTOCOLS);
          const { viewer } = connect(webSocket, { principal, dialect, request }, options);
          // Called when everything before it, the 101, has been written to the socket.
          socket.write("", () => void setTimeout(() => viewer.welcome(), OPENING_MS).unref());
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

/** `dialect`: the protocol of a client that does not speak frames. */
type Admitted = { readonly principal: Principal; readonly dialect: SocketDialect | undefined };

async function admit(
  request: IncomingMessage,
  { method, path, host, origin }: RequestContext,
  options: UpgradeOptions,
): Promise<Admitted> {
  refuseAmbiguous(request);
  const query = new URLSearchParams(request.url?.split("?", 2)[1]);
  const dialectOf = SOCKET_DIALECTS.get(path);
  if (path !== "/ws" && dialectOf === undefined)
    throw new ServiceError("not_found", `no WebSocket is served at ${path}, see /ws`);
  if (method !== "GET") throw new ServiceError("method_not_allowed", "a handshake is a GET");
  const client = options.clientOf(request);
  if (options.policy !== undefined)
    enforcePolicy(options.policy, { method, isUpgrade: true, host, origin, asked: client });
  const queryToken = query.get("token") ?? undefined;
  const claims = claimsOf(request, { queryToken, address: client.address, place: "websocket" });
  const check = options.authenticate(claims);
  const principal = await withDeadline(check, AUTHENTICATION_TIMEOUT_MS, "the login check");
  return { principal, dialect: dialectOf?.(query) };
}

/** Limits each user, and all guests of one link together. Without login callers cannot be told apart. */
export function refuseTooMany(clients: Hub["clients"], { user, method }: Principal): void {
  if (method === "none" || method === "socket" || method === "hq") return;
  if (clients.filter((client) => client.user === user).length < MAX_USER_SOCKETS) return;
  throw new ServiceError("rate_limited", `${user} has ${MAX_USER_SOCKETS} connections: close some first`);
}

function connect(
  webSocket: WebSocket,
  { principal, dialect, request }: Admitted & { readonly request: IncomingMessage },
  options: UpgradeOptions,
): HubClient {
  const { address } = options.clientOf(request);
  const who = { user: principal.user, address };
  const client = options.hub.connect(peerOf(webSocket, dialect), who, options.viewOf?.(principal, address));
  const { viewer, id } = client;
  options.log.debug({ client: id, user: principal.user, address }, "client connected");
  const login = options.whenOver(principal, (reason) => {
    // Ignores further messages, however long the client takes to close.
    client[Symbol.dispose]();
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
    client[Symbol.dispose]();
  });
  return client;
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
