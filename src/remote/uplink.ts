import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { readError } from "../protocol/client/caller.ts";
import { givenUp, type Link, type LinkHandlers } from "../protocol/client/link.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_UPLINK_MESSAGE_BYTES } from "../protocol/limits.ts";
import { type SocketTarget, socketAgent } from "./exact-socket.ts";
import { trusting } from "./trust.ts";
import { Tunnel, type TunnelConnect, tunnelAgent } from "./tunnel.ts";
import { unreachable } from "./unreachable.ts";

/**
 * An http(s) origin with authentication headers. `ca` (PEM) is trusted beside Node's roots; its TLS context is cached by
 * array. `tunnel`: the connections go through the tunnel of this remote, and the origin only names it.
 */
export type OriginTarget = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: Uint8Array | undefined;
  readonly tunnel?: { readonly remoteId: string; readonly connect: TunnelConnect };
};

export type UplinkTarget = SocketTarget | OriginTarget;

/** Opens a link to another server's /ws, without following redirects. Rejects with the server's error or `host_unreachable`. */
export async function openLink(
  target: UplinkTarget,
  handlers: LinkHandlers,
  signal: AbortSignal,
): Promise<Link> {
  const socket = webSocketTo(target, "/ws", signal);
  let isOpen = false;
  let failure = "connection lost";
  socket.once("open", () => {
    isOpen = true;
    // Messages that came with the answer wait until the caller has the link.
    socket.pause();
    setImmediate(() => socket.resume());
  });
  socket.on("message", (data, isBinary) => {
    if (isBinary && data instanceof Uint8Array) handlers.onMessage(data);
  });
  socket.on("error", (error) => {
    failure = error.message;
  });
  socket.once("close", (code, reason) => {
    const text = reason.length > 0 ? new TextDecoder().decode(reason) : failure;
    if (isOpen) handlers.onClose({ code, text });
  });
  await opened(socket, target, signal);
  return {
    send: (message) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(message, { binary: true, compress: false });
    },
    close: () => socket.close(1000),
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
  };
}

/** A tunnel of this server to its HQ. `ping` resolves when the HQ has answered. */
export type OpenTunnel = { readonly tunnel: Tunnel; readonly ping: () => Promise<void> };

/** Opens a tunnel, whose connections `accept` takes. Rejects as `openLink`. */
export async function openTunnel(
  { target, path, accept }: { target: OriginTarget; path: string; accept: (connection: Duplex) => void },
  signal: AbortSignal,
): Promise<OpenTunnel> {
  const socket = webSocketTo(target, path, signal);
  const tunnel = tunnelOver(socket, accept);
  await opened(socket, target, signal);
  const ping = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("pong", () => resolve());
    socket.ping();
    await promise;
  };
  return { tunnel, ping };
}

/** The tunnel over a WebSocket, of either side. */
export function tunnelOver(socket: WebSocket, accept?: (connection: Duplex) => void): Tunnel {
  const link = {
    send: (message: Uint8Array, onSent: () => void) =>
      socket.send(message, { binary: true, compress: false }, (error) => {
        // Nothing more is sent over a broken link, whose close follows.
        if (!(error instanceof Error)) onSent();
      }),
    terminate: () => socket.terminate(),
  };
  const tunnel = new Tunnel(link, accept);
  socket.on("message", (data) => {
    if (data instanceof Uint8Array) tunnel.received(data);
  });
  socket.on("error", () => {});
  socket.once("close", () => tunnel.lost());
  return tunnel;
}

function webSocketTo(target: UplinkTarget, path: string, signal: AbortSignal): WebSocket {
  if (signal.aborted) throw givenUp();
  const options = { perMessageDeflate: false, maxPayload: MAX_UPLINK_MESSAGE_BYTES, followRedirects: false };
  if ("socketPath" in target) {
    // Zeros: masks protect proxies, and there are none here.
    const local = { agent: socketAgent(target), generateMask: () => undefined };
    return new WebSocket(`ws://localhost${path}`, { ...options, ...local });
  }
  const { url, headers, ca, tunnel } = target;
  const address = new URL(path, url);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(address.href, {
    ...{ ...options, headers, ...trusting(ca) },
    ...(tunnel && { agent: tunnelAgent(tunnel.remoteId, tunnel.connect) }),
  });
}

async function opened(socket: WebSocket, target: UplinkTarget, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = (): void => {
    reject(givenUp());
    socket.terminate();
  };
  signal.addEventListener("abort", abort, { once: true });
  socket.once("open", resolve);
  socket.on("unexpected-response", (_, response) => {
    const message = `the server answered with status ${response.statusCode}`;
    void readError(response, "host_unreachable", message).then((error) => {
      reject(error);
      socket.terminate();
    });
  });
  socket.on("error", (error) => reject(unreachable(target, "no connection", error)));
  socket.once("close", () => reject(new ServiceError("host_unreachable", "no connection: connection lost")));
  await promise.finally(() => signal.removeEventListener("abort", abort));
}
