import { WebSocket } from "ws";
import { collectBytes } from "../lib/data/collect.ts";
import type { Link, LinkHandlers } from "../protocol/client/link.ts";
import { givenUp } from "../protocol/client/link.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_UPLINK_MESSAGE_BYTES } from "../protocol/limits.ts";
import { openSocketLink, type SocketTarget } from "./socket-link.ts";
import { trusting } from "./trust.ts";
import { refusalOf, unreachable } from "./unreachable.ts";

/**
 * The address of another server: a unix socket (`noFollow`: not a symbolic link, and owned by this user or root), or an
 * http(s) origin with authentication headers. `ca` (PEM) is trusted beside Node's roots; its TLS context is cached by array.
 */
export type UplinkTarget =
  | SocketTarget
  | {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly ca?: Uint8Array | undefined;
    };

/** Opens a link to another server's /ws, without following redirects. Rejects with the server's error or `host_unreachable`. */
export async function openLink(
  target: UplinkTarget,
  handlers: LinkHandlers,
  signal: AbortSignal,
): Promise<Link> {
  if (signal.aborted) throw givenUp();
  if ("socketPath" in target) return await openSocketLink(target, handlers, signal);
  const socket = new WebSocket(addressOf(target.url), {
    headers: target.headers,
    perMessageDeflate: false,
    maxPayload: MAX_UPLINK_MESSAGE_BYTES,
    followRedirects: false,
    ...trusting(target.ca),
  });
  const { promise, resolve, reject } = Promise.withResolvers<Link>();
  const abort = (): void => socket.terminate();
  signal.addEventListener("abort", abort, { once: true });
  let isOpen = false;
  let failure = "connection lost";
  socket.once("open", () => {
    signal.removeEventListener("abort", abort);
    isOpen = true;
    resolve(linkOver(socket));
  });
  socket.on("message", (data, isBinary) => {
    if (isBinary && data instanceof Uint8Array) handlers.onMessage(data);
  });
  socket.on("unexpected-response", (_, response) => {
    void readRefusal(response, response.statusCode ?? 500).then((error) => {
      reject(error);
      socket.terminate();
    });
  });
  socket.on("error", (error) => {
    failure = error.message;
    reject(unreachable(target, "no connection", error));
  });
  socket.once("close", (code, reason) => {
    signal.removeEventListener("abort", abort);
    reject(new ServiceError("host_unreachable", `no connection: ${failure}`));
    if (isOpen)
      handlers.onClose({ code, text: reason.length > 0 ? new TextDecoder().decode(reason) : failure });
  });
  return await promise;
}

function addressOf(origin: string): string {
  const url = new URL("/ws", origin);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

function linkOver(socket: WebSocket): Link {
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

/** Maximum of a refusal, which is one error body. */
const MAX_REFUSAL_BYTES = 64 * 1024;

async function readRefusal(body: AsyncIterable<Uint8Array>, status: number): Promise<ServiceError> {
  return refusalOf(await collectBytes(body, MAX_REFUSAL_BYTES).catch(() => new Uint8Array()), status);
}
