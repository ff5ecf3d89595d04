// Converts a client's headers into those of the forwarded request.
import type { IncomingHttpHeaders } from "node:http";
import { type RequestHead, refuseAmbiguous } from "../lib/net/request-head.ts";
import { ServiceError } from "../protocol/errors.ts";
import { foreignCookies } from "./cookies.ts";
import type { ProxyUser } from "./proxy-user.ts";

/** What the proxy vouches for. */
export type Voucher = {
  readonly user: ProxyUser;
  /** Proves to the server that the request comes from its own proxy. */
  readonly proof: string;
  readonly address: string | undefined;
  readonly host: string;
};

/** Some programs treat other characters, above all `_`, as equal to `-`. */
const PLAIN_NAME = /^[a-z0-9-]+$/;
const PLAIN_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Hop-by-hop headers (RFC 9110, 7.6.1), and those that this proxy has already processed. */
export const OF_THIS_HOP: ReadonlySet<string> = new Set([
  "connection",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Only a proxy may set these. */
const OF_PROXIES =
  /^(?:proxy|proxy-user-.*|x-ttyhq-.*|ttyhq-.*|forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-original-.*|x-rewrite-.*|x-http-method.*|x-client-.*|true-client-ip)$/;

/**
 * Throws as `refuseAmbiguous` and, because the next server parses the request again, `invalid_request` for a target
 * that is not a path, a missing Host, two body lengths, and control characters.
 */
export function refuseUnforwardable(head: RequestHead): void {
  refuseAmbiguous(head);
  const { url = "", headers } = head;
  if (!url.startsWith("/"))
    throw new ServiceError("invalid_request", "the request target must be a path, which begins with a slash");
  if (!headers.host) throw new ServiceError("invalid_request", "name the host in the header Host");
  if (headers["transfer-encoding"] !== undefined && headers["content-length"] !== undefined) {
    throw new ServiceError("invalid_request", "give the body one length: Content-Length, or chunked");
  }
  for (const value of Object.values(headers).flat()) {
    if (value !== undefined && !PLAIN_VALUE.test(value)) {
      throw new ServiceError("invalid_request", "a header contains a control character");
    }
  }
}

/** The client's headers without hop-by-hop headers, proxy cookies and proxy-only headers, and the proxy's own. */
export function forwardedHeaders(
  { headers }: Pick<RequestHead, "headers">,
  voucher: Voucher,
  kind: "request" | "upgrade",
): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/[\s,]+/));
  const kept = Object.entries(headers).filter(
    ([name]) => PLAIN_NAME.test(name) && !OF_THIS_HOP.has(name) && !OF_PROXIES.test(name) && !named.has(name),
  );
  const { cookie, ...others }: IncomingHttpHeaders = Object.fromEntries(kept);
  const cookies = foreignCookies(cookie);
  return {
    ...others,
    ...(cookies === undefined ? {} : { cookie: cookies }),
    ...framing(headers, kind),
    ...said(voucher),
  };
}

/** The body's length; an upgrade has no body. `Connection` cannot remove these. */
function framing(headers: IncomingHttpHeaders, kind: "request" | "upgrade"): IncomingHttpHeaders {
  if (kind === "upgrade") return { connection: "Upgrade", upgrade: "websocket" };
  const { "transfer-encoding": coding, "content-length": length } = headers;
  if (coding !== undefined) return { "transfer-encoding": "chunked" };
  return length === undefined ? {} : { "content-length": length };
}

function said({ user, proof, address, host }: Voucher): IncomingHttpHeaders {
  const { groups = [] } = user;
  return {
    host,
    "proxy-user-proof": proof,
    "proxy-user-login": headerText(user.login),
    ...(groups.length === 0 ? {} : { "proxy-user-groups": groups.map(encodeURIComponent).join(",") }),
    ...(user.name === undefined ? {} : { "proxy-user-name": headerText(user.name) }),
    ...(user.picture === undefined ? {} : { "proxy-user-profile-pic": user.picture }),
    ...(address === undefined ? {} : { "x-forwarded-for": address }),
    "x-forwarded-proto": "https",
    "x-forwarded-host": host,
  };
}

/** UTF-8 bytes as characters, as node:http writes them (RFC 9110, 5.5: obs-text). */
function headerText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
