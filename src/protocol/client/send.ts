// How a request travels, whatever carries it: fetch in the page, node:http on a unix socket.
import type { Endpoint } from "../endpoints/endpoint.ts";

export type ClientRequest = {
  readonly method: Uppercase<Endpoint["method"]>;
  /** Path and query, escaped. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON text. */
  readonly body: string | undefined;
  /** Gives the request up, its answer's body included. */
  readonly signal: AbortSignal;
};

export type ClientResponse = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** To be read to its end or left by `return`, once. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Rejects with a ServiceError, `host_unreachable` when nobody answers, or with the signal's reason. */
export type Send = (request: ClientRequest) => Promise<ClientResponse>;
