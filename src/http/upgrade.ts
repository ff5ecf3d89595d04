// GET /ws: from an upgrade request to a client of the hub.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { RequestFacts } from "../auth/chain.ts";
import { enforcePolicy, type RequestPolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { Hub } from "../hub/hub.ts";
import type { Peer } from "../hub/outbox.ts";
import { withDeadline } from "../lib/deadline.ts";
import type { Log } from "../log.ts";
import { errorBody, ServiceError } from "../protocol/errors.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/limits.ts";

const AUTHENTICATION_TIMEOUT_MS = 5_000;

export type UpgradeOptions = {
  readonly hub: Hub;
  readonly authenticate: (facts: RequestFacts) => Promise<Principal>;
  readonly policy: RequestPolicy | undefined;
  readonly log: Log;
};

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export function createUpgrade(options: UpgradeOptions): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  return (request, socket, head) => {
    // Until it is a WebSocket nobody else listens for its errors.
    const ignore = (): void => {};
    socket.on("error", ignore);
    void admit(request, options)
      .then((principal) => {
        socket.off("error", ignore);
        server.handleUpgrade(request, socket, head, (webSocket) => {
          connect(webSocket, principal, request, options);
        });
      })
      .catch((error: unknown) => refuse(socket, error));
  };
}

async function admit(request: IncomingMessage, options: UpgradeOptions): Promise<Principal> {
  const url = URL.parse(request.url ?? "/", "http://localhost");
  if (url?.pathname !== "/ws") throw new ServiceError("not_found", "WebSockets are served at /ws alone");
  const { host, origin, authorization } = request.headers;
  if (options.policy !== undefined) {
    enforcePolicy(options.policy, { method: request.method ?? "GET", isUpgrade: true, host, origin });
  }
  const facts = {
    authorization,
    queryToken: url.searchParams.get("token") ?? undefined,
    place: "websocket",
  } as const;
  return withDeadline(options.authenticate(facts), AUTHENTICATION_TIMEOUT_MS, "the login check");
}

function connect(
  webSocket: WebSocket,
  principal: Principal,
  request: IncomingMessage,
  options: UpgradeOptions,
): void {
  const address = request.socket.remoteAddress;
  const client = options.hub.connect(peerOf(webSocket), { user: principal.user, address });
  const { viewer } = client;
  webSocket.on("message", (data: RawData, isBinary: boolean) => {
    if (!isBinary) viewer.receiveText();
    else if (data instanceof Uint8Array) viewer.receive(data);
  });
  webSocket.on("pong", () => viewer.heard());
  webSocket.on("error", (error) =>
    options.log.debug({ client: client.id, error }, "client broke the protocol"),
  );
  webSocket.on("close", () => void client[Symbol.asyncDispose]());
}

function peerOf(webSocket: WebSocket): Peer {
  return {
    send: (message, onSent) => webSocket.send(message, { binary: true, compress: false }, onSent),
    get bufferedBytes() {
      return webSocket.bufferedAmount;
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

function refuse(socket: Duplex, error: unknown): void {
  const status = error instanceof ServiceError ? error.status : 500;
  const body = JSON.stringify(errorBody(error));
  const head = [
    `HTTP/1.1 ${status} ${status === 401 ? "Unauthorized" : "Refused"}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
