// What of a request says who it comes from: the one reading of these headers.
import type { IncomingMessage } from "node:http";
import type { ClaimedIdentity, RequestClaims } from "../auth/chain.ts";

/** What proxies tell of themselves by. */
const FORWARDING =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|true-client-ip|cdn-loop|cf-.*|fastly-.*|fly-.*|tailscale-.*|x-amzn-.*|x-appengine-.*|x-azure-.*|x-envoy-.*|x-proxyuser-ip)$/;
/** Long enough for every user name, short enough to be kept and logged. */
const MAX_NAME_LENGTH = 256;
/** Longer than anything that may be a name or the address of a picture. */
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

/** HTTP/1.0 is what nginx speaks to a server unless it is told otherwise, and then it says nothing else of itself. */
function isForwarded({ headers, httpVersion }: Request): boolean {
  return httpVersion === "1.0" || Object.keys(headers).some((name) => FORWARDING.test(name));
}

/**
 * A browser lets no page set these: names that begin with `proxy-` are its own (Fetch, forbidden request-header). So no
 * page can pass itself off as a proxy, whichever name of this machine it was loaded from.
 */
function identityOf(headers: IncomingMessage["headers"]): ClaimedIdentity | undefined {
  const login = text(headers["proxy-user-login"]);
  const name = text(headers["proxy-user-name"]);
  const picture = text(headers["proxy-user-profile-pic"]);
  const groups = one(headers["proxy-user-groups"]);
  const isThere = login !== undefined || name !== undefined || picture !== undefined;
  return isThere ? { login, name, picture, ...(groups === undefined ? {} : { groups }) } : undefined;
}

/** Headers are bytes, which node:http gives as Latin-1; names are written in UTF-8, where they are that. */
function text(value: string | readonly string[] | undefined): string | undefined {
  const bytes = one(value);
  if (bytes === undefined || bytes.length > MAX_VALUE_LENGTH) return bytes;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, "latin1"));
  } catch {
    return bytes;
  }
}

/** As an HQ writes it, see http/routes/forward.ts. What is no such text is somebody all the same, and never nobody. */
function userName(value: string | readonly string[] | undefined): string | undefined {
  const written = text(value);
  try {
    return written && decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** A header that was sent several times comes as one text with commas in it, which names nobody. */
function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.join(", ");
}
