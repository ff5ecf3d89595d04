// The socket of the /ws client, implemented over `ws` in remote/uplink.ts and over the browser's WebSocket.
import { ServiceError } from "../errors.ts";

/** One open connection. The methods do not throw; after the close they do nothing. */
export type Link = {
  /** Sends one message, in order. The bytes must not change afterwards. */
  send(message: Uint8Array): void;
  close(): void;
  /** Bytes that were passed to `send` and have not left yet. */
  readonly bufferedBytes: number;
};

/** The reason for the end of a link: a WebSocket close code and what else is known. */
export type LinkClose = { readonly code: number; readonly text: string };

export type LinkHandlers = {
  /** Called with binary messages, in order; text messages are dropped. */
  onMessage(message: Uint8Array): void;
  /** Called once, at the end, whichever side closed. */
  onClose(reason: LinkClose): void;
};

/**
 * Opens a link. Rejects with a ServiceError, see `isFinal`. `signal` aborts the attempt; the caller closes a link that opens
 * nevertheless.
 */
export type OpenLink = (handlers: LinkHandlers, signal: AbortSignal) => Promise<Link>;

/** Whether the server refused for good, so that a retry is useless. Not so: too slow (408), too often (429). */
export function isFinal({ status }: ServiceError): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

export function disconnected(): ServiceError {
  return new ServiceError("host_unreachable", "disconnected");
}

export function givenUp(): ServiceError {
  return new ServiceError("host_unreachable", "the attempt to connect was aborted");
}

export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = error instanceof Error ? error.message : "the connection failed";
  return new ServiceError("host_unreachable", message, { cause: error });
}
