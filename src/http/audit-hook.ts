// The hook that receives the outcome of each request, for the audit log.
import type { IncomingMessage } from "node:http";
import type { Principal } from "../auth/principal.ts";
import type { EndpointName } from "../protocol/endpoints/endpoints.ts";
import type { Client } from "./client-address.ts";

/** Holds what may be secret: queries, bodies and answers. Whoever writes it down picks by name. */
export type AuditedRequest = {
  /** Undefined for what was refused before an endpoint was looked up, and for the handshake of `/ws`. */
  readonly endpoint: EndpointName | undefined;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly address: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Whether it carried anything that should say who asks. */
  readonly hasProof: boolean;
  /** Undefined where nobody needs to log in, and where nobody did. */
  readonly principal: Principal | undefined;
  /** Undefined for what was refused unread. */
  readonly input: { readonly params: unknown; readonly query: unknown; readonly body: unknown } | undefined;
  /** An answer of bytes is told of when it begins. */
  readonly outcome: { readonly answer: unknown } | { readonly error: unknown };
};

/** Must not throw, and keeps nobody waiting. */
export type RequestAuditHook = (seen: AuditedRequest) => void;

/** The parts of an audited request that are known before its outcome. */
export type RequestContext = {
  -readonly [Name in keyof Omit<AuditedRequest, "outcome">]: AuditedRequest[Name];
};

const QUERY_TOKEN = /[?&]token=/;

/** Before the endpoint was looked up. */
export function contextOf(
  { headers, method = "GET", url = "/" }: Pick<IncomingMessage, "headers" | "method" | "url">,
  { address }: Pick<Client, "address">,
): RequestContext {
  const { host, origin, authorization } = headers;
  const hasProof = authorization !== undefined || QUERY_TOKEN.test(url);
  const [path = "/"] = url.split("?", 1);
  return {
    ...{ method, path, host, origin, hasProof, address },
    ...{ endpoint: undefined, principal: undefined, input: undefined },
  };
}

/** Runs the work and passes its outcome to the hook. */
export async function audited(
  seen: RequestContext,
  auditHook: RequestAuditHook | undefined,
  work: () => Promise<unknown>,
): Promise<unknown> {
  try {
    const answer = await work();
    auditHook?.({ ...seen, outcome: { answer } });
    return answer;
  } catch (error) {
    auditHook?.({ ...seen, outcome: { error } });
    throw error;
  }
}
