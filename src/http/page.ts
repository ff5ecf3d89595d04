// What a browser is told about our answers: what the page may do, and that everything else is nothing to be run.
import type { IncomingMessage, ServerResponse } from "node:http";
import { formatOrigin, parseHost } from "../lib/net/origin.ts";
import type { Client } from "./client-address.ts";

/**
 * xterm sets styles from script; everything else comes from our own files. Nothing that is text becomes HTML or a program
 * (trusted types): what a terminal shows cannot, whatever it finds in the page.
 */
const PAGE_POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** An answer of the API that a browser is led to is no page: what is in it, a remote or a program may have written. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** What a terminal in a page never needs; of the rest (the clipboard, the full screen) a browser asks the user. */
const PERMISSIONS = [
  ...[
    "accelerometer",
    "autoplay",
    "camera",
    "display-capture",
    "encrypted-media",
    "geolocation",
    "gyroscope",
  ],
  ...["hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb"],
]
  .map((feature) => `${feature}=()`)
  .join(", ");

const API = /^\/api(?:\/|$)/;
const YEAR_S = 31_536_000;

/** "https": a reverse proxy names the addresses of users' pictures, which may be anywhere. */
export type AvatarSource = "own" | "https";

export function setSecurityHeaders(
  { url = "/" }: Pick<IncomingMessage, "url">,
  response: Pick<ServerResponse, "setHeader">,
  client: Client,
  avatars: AvatarSource,
): void {
  const isApi = API.test(url.split("?", 1)[0] ?? "");
  response.setHeader("content-security-policy", isApi ? API_POLICY : pagePolicy(client, avatars));
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("x-frame-options", "DENY");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  if (!isApi) response.setHeader("permissions-policy", PERMISSIONS);
  setTransportSecurity(response, client);
}

/** To Safari before 16, 'self' is not the WebSocket of the same server. */
function pagePolicy({ host = "", isHttps }: Client, avatars: AvatarSource): string {
  const parsed = parseHost(host);
  const sockets =
    parsed === undefined
      ? []
      : (isHttps ? ["wss"] : ["ws", "wss"]).map((scheme) => formatOrigin({ scheme, host: parsed }));
  const images = `img-src 'self' data:${avatars === "https" ? " https:" : ""}`;
  return [PAGE_POLICY, images, ["connect-src 'self'", ...sockets].join(" ")].join("; ");
}

/**
 * A browser is told to come over TLS alone where https on its own port is all that a name is known for; under a name with a
 * port there may be others, which speak http. A browser does not take that from an address.
 */
function setTransportSecurity(
  response: Pick<ServerResponse, "setHeader">,
  { isHttps, host }: Omit<Client, "address">,
): void {
  if (isHttps && host !== undefined && parseHost(host)?.port === undefined) {
    response.setHeader("strict-transport-security", `max-age=${YEAR_S}`);
  }
}
