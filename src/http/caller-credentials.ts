// The only place that reads credentials and identity headers from requests.
import type { IncomingMessage } from "node:http";
import type { ClaimedIdentity, RequestClaims } from "../auth/chain.ts";

const FORWARDING =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|true-client-ip|cdn-loop|cf-.*|fastly-.*|fly-.*|tailscale-.*|x-amzn-.*|x-appengine-.*|x-azure-.*|x-envoy-.*|x-proxyuser-ip)$/;
/** Long enough for every user name, short enough to be kept and logged. */
const MAX_NAME_LENGTH = 256;
/** Longer than any name or avatar URL. */
const MAX_VALUE_LENGTH = 4_096;

type Request = Pick<IncomingMessage, "headers"> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly httpVersion?: string;
};

export function claimsOf(
  request: Request,
  where: Pick<RequestClaims, "queryToken" | "address" | "place">,
): RequestClaims {
  const { headers, socket } = request;
  const { authorization, host } = headers;
  return {
    ...{ authorization, host, peer: socket.remoteAddress },
    isForwarded: isForwarded(request),
    localToken: one(headers["x-ttyhq-local"]),
    identity: identityOf(headers),
    identityProof: one(headers["proxy-user-proof"]),
    onBehalfOf: userName(headers["ttyhq-on-behalf-of"])?.slice(0, MAX_NAME_LENGTH),
    caller: one(headers["ttyhq-caller"]),
    ...where,
  };
}

/** By default nginx speaks HTTP/1.0 to servers, without any such header. */
function isForwarded({ headers, httpVersion }: Request): boolean {
  return httpVersion === "1.0" || Object.keys(headers).some((name) => FORWARDING.test(name));
}

/** Pages cannot set these headers: names that start with `proxy-` are forbidden (Fetch, forbidden request-header). */
function identityOf(headers: IncomingMessage["headers"]): ClaimedIdentity | undefined {
  const login = text(headers["proxy-user-login"]);
  const name = text(headers["proxy-user-name"]);
  const picture = text(headers["proxy-user-profile-pic"]);
  const groups = one(headers["proxy-user-groups"]);
  const isThere = login !== undefined || name !== undefined || picture !== undefined;
  return isThere ? { login, name, picture, ...(groups === undefined ? {} : { groups }) } : undefined;
}

/** node:http decodes headers as Latin-1; names are in UTF-8 if they are valid UTF-8. */
function text(value: string | readonly string[] | undefined): string | undefined {
  const bytes = one(value);
  if (bytes === undefined || bytes.length > MAX_VALUE_LENGTH) return bytes;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, "latin1"));
  } catch {
    return bytes;
  }
}

/** As encoded by http/routes/forward.ts. A malformed name is still a name, never nobody. */
function userName(value: string | readonly string[] | undefined): string | undefined {
  const written = text(value);
  try {
    return written && decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** A header that was sent several times is joined with commas, which no name contains. */
function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.join(", ");
}
