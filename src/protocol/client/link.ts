// What the client of /ws needs of a socket. Implemented over `ws` in remote/uplink.ts and over the browser's WebSocket.

/** One open connection. Neither method throws; after the close both do nothing. */
export type Link = {
  /** One message, in order. The bytes must not change afterwards. */
  send(message: Uint8Array): void;
  close(): void;
  /** Bytes that were given to `send` and have not left yet. */
  readonly bufferedBytes: number;
};

/** Why a link ended: a WebSocket close code and what is known beyond it. */
export type LinkClose = { readonly code: number; readonly text: string };

export type LinkHandlers = {
  /** Binary messages, in order; text messages are not passed on. */
  onMessage(message: Uint8Array): void;
  /** Once, at the end, whoever closed; nothing comes after it. */
  onClose(reason: LinkClose): void;
};

/**
 * Opens a link. Rejects with a ServiceError; one with a status of 4xx other than 408 and 429 means that another
 * try is of no use. `signal` gives the attempt up, with all that it consists of: a link that opens nevertheless is closed
 * by the caller.
 */
export type OpenLink = (handlers: LinkHandlers, signal: AbortSignal) => Promise<Link>;
