// The browser's WebSocket as the Link that protocol/session-socket.ts asks for.

import type { Link, LinkClose, LinkHandlers } from "../../protocol/client/link.ts";
import { givenUp } from "../../protocol/client/link.ts";
import { ServiceError } from "../../protocol/errors.ts";

/** What the browser says of a connection that never opened: it tells neither the status nor a reason. */
const ABNORMAL_CLOSURE = 1006;

/** Opens `url` (ws: or wss:). Rejects with `host_unreachable` when it does not open, whatever the cause. */
export async function openBrowserLink(
  url: string,
  handlers: LinkHandlers,
  signal: AbortSignal,
): Promise<Link> {
  if (signal.aborted) throw givenUp();
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  const { promise, resolve, reject } = Promise.withResolvers<Link>();
  const giveUp = (): void => {
    socket.close();
    reject(givenUp());
  };
  signal.addEventListener("abort", giveUp, { once: true });
  socket.onopen = () => {
    signal.removeEventListener("abort", giveUp);
    carry(socket, handlers);
    resolve(linkOver(socket));
  };
  socket.onclose = (event) => {
    signal.removeEventListener("abort", giveUp);
    reject(new ServiceError("host_unreachable", closeText(event) || "the server does not answer"));
  };
  return await promise;
}

/** The page came from this server: that there is none is said by a proxy in front, whose server is away for the moment. */
export function passing(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== "not_found") throw error;
  throw new ServiceError("host_unreachable", error.message, { cause: error });
}

function carry(socket: WebSocket, handlers: LinkHandlers): void {
  socket.onmessage = (event: MessageEvent<unknown>) => {
    if (event.data instanceof ArrayBuffer) handlers.onMessage(new Uint8Array(event.data));
  };
  socket.onclose = (event) => {
    socket.onmessage = null;
    handlers.onClose(closeReason(event));
  };
}

function linkOver(socket: WebSocket): Link {
  return {
    send(message) {
      // The DOM's types refuse shared memory, which a frame is never made of: a copy only where it would be.
      if (socket.readyState === WebSocket.OPEN) socket.send(new Uint8Array(message));
    },
    close: () => socket.close(),
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
  };
}

function closeReason(event: CloseEvent): LinkClose {
  return { code: event.code, text: closeText(event) };
}

function closeText(event: CloseEvent): string {
  if (event.reason !== "") return event.reason;
  return event.code === ABNORMAL_CLOSURE ? "the connection was lost" : "";
}
