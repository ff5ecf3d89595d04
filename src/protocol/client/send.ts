// The transport of requests: fetch in the page, node:http on a unix socket.
import type { Endpoint } from "../endpoints/endpoint.ts";

export type ClientRequest = {
  readonly method: Uppercase<Endpoint["method"]>;
  /** Path and query, escaped. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON text. */
  readonly body: string | undefined;
  /** Aborts the request and the body of its answer. */
  readonly signal: AbortSignal;
};

export type ClientResponse = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** To be read once, to its end or until `return`. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Rejects with a ServiceError, `host_unreachable` without an answer, or with the signal's reason. */
export type Send = (request: ClientRequest) => Promise<ClientResponse>;
