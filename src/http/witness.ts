// Who is told how each request ended, so that a record can be kept of it.
import type { IncomingMessage } from "node:http";
import type { Principal } from "../auth/principal.ts";
import type { EndpointName } from "../protocol/endpoints.ts";
import type { Client } from "./client-address.ts";

/** Holds what may be secret: queries, bodies and answers. Whoever writes it down picks by name. */
export type SeenRequest = {
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
export type RequestWitness = (seen: SeenRequest) => void;

/** What is known of a request by now. */
export type Seen = { -readonly [Name in keyof Omit<SeenRequest, "outcome">]: SeenRequest[Name] };

const QUERY_TOKEN = /[?&]token=/;

/** What there is to see before anything was looked up. */
export function sightOf(
  { headers, method = "GET", url = "/" }: Pick<IncomingMessage, "headers" | "method" | "url">,
  { address }: Pick<Client, "address">,
): Seen {
  const { host, origin, authorization } = headers;
  const hasProof = authorization !== undefined || QUERY_TOKEN.test(url);
  const [path = "/"] = url.split("?", 1);
  return {
    ...{ method, path, host, origin, hasProof, address },
    ...{ endpoint: undefined, principal: undefined, input: undefined },
  };
}

/** Does the work, and tells how it went. */
export async function witnessed(
  seen: Seen,
  witness: RequestWitness | undefined,
  work: () => Promise<unknown>,
): Promise<unknown> {
  try {
    const answer = await work();
    witness?.({ ...seen, outcome: { answer } });
    return answer;
  } catch (error) {
    witness?.({ ...seen, outcome: { error } });
    throw error;
  }
}
