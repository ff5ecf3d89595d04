// The browser's WebSocket as a Link of protocol/session-socket.ts.

import type { Link, LinkClose, LinkHandlers } from "../../protocol/client/link.ts";
import { givenUp } from "../../protocol/client/link.ts";
import { ServiceError } from "../../protocol/errors.ts";

/** The message for a connection that never opened: browsers report neither a status nor a reason. */
const ABNORMAL_CLOSURE = 1006;

/** Opens `url` (ws: or wss:). Rejects with `host_unreachable` on any failure. */
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

/**
 * This server delivered the page, so a 404 comes from a proxy in front of it whose server is temporarily down. After a
 * 401 the page either has no login or is let in again, and stays connected.
 */
export function passing(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error;
  if (error.code !== "not_found" && error.status !== 401) throw error;
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
      // The DOM's types refuse shared memory, which frames never use; it would be copied.
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
