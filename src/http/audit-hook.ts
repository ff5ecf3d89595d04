// The hook that receives the outcome of each request, for the audit log.
import type { IncomingMessage } from "node:http";
import type { Principal } from "../auth/principal.ts";
import { pathOf } from "../lib/net/request-head.ts";
import type { EndpointName } from "../protocol/endpoints/endpoints.ts";
import type { Client } from "./client-address.ts";

/** May hold secrets in queries, bodies and answers: pick members by name. */
export type AuditedRequest = {
  /** Undefined for requests refused earlier, and for WebSocket handshakes. */
  readonly endpoint: EndpointName | undefined;
  readonly method: string;
  /** Without query and fragment, which may hold secrets. */
  readonly path: string;
  readonly address: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly hasProof: boolean;
  readonly principal: Principal | undefined;
  /** Undefined if the request was refused before its input was read. */
  readonly input: { readonly params: unknown; readonly query: unknown; readonly body: unknown } | undefined;
  /** Media answers are reported when they begin. */
  readonly outcome: { readonly answer: unknown } | { readonly error: unknown };
};

/** Must neither throw nor block. */
export type RequestAuditHook = (seen: AuditedRequest) => void;

/** A request in progress, completed while it is handled. */
export type RequestContext = {
  -readonly [Name in keyof Omit<AuditedRequest, "outcome">]: AuditedRequest[Name];
} & {
  readonly beganMs: number;
  /** When the answer was ready; the rest of the time depends on the client, or on an endless stream. */
  answeredMs: number | undefined;
};

const QUERY_TOKEN = /[?&]token=/;

export function contextOf(
  { headers, method = "GET", url = "/" }: Pick<IncomingMessage, "headers" | "method" | "url">,
  { address }: Pick<Client, "address">,
): RequestContext {
  const { host, origin, authorization } = headers;
  const hasProof = authorization !== undefined || QUERY_TOKEN.test(url);
  return {
    ...{ method, path: pathOf(url), host, origin, hasProof, address },
    ...{ endpoint: undefined, principal: undefined, input: undefined },
    ...{ beganMs: performance.now(), answeredMs: undefined },
  };
}
