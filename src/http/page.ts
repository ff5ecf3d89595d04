// Security headers: what the page may do, and that other answers are not executed.
import type { ServerResponse } from "node:http";
import { formatOrigin, parseHost } from "../lib/net/origin.ts";
import type { Client } from "./client-address.ts";

/**
 * xterm sets styles from scripts; everything else comes from our own files. Trusted types: no text becomes HTML or
 * script, whatever a terminal shows. The decoder of Sixel images is WebAssembly, which reaches nothing but its own memory.
 */
const PAGE_POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "manifest-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** API answers are not pages: a remote or a program may have written their content. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** Features that the page never needs; for the others (clipboard, full screen) the browser asks the user. */
const FEATURES = [
  ...["accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation"],
  ...["gyroscope", "hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb"],
];
const PERMISSIONS = FEATURES.map((feature) => `${feature}=()`).join(", ");

const API = /^\/api(?:\/|$)/;
const YEAR_S = 31_536_000;

/** "https": a reverse proxy names avatar URLs of any host. */
export type AvatarSource = "own" | "https";

export function setSecurityHeaders(
  { path }: { readonly path: string },
  response: Pick<ServerResponse, "setHeader">,
  client: Client,
  avatars: AvatarSource,
): void {
  const isApi = API.test(path);
  response.setHeader("content-security-policy", isApi ? API_POLICY : pagePolicy(client, avatars));
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("x-frame-options", "DENY");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  if (!isApi) response.setHeader("permissions-policy", PERMISSIONS);
  // Under a name with a port other services may speak http. Browsers ignore the header for IP addresses.
  const { isHttps, host } = client;
  if (isHttps && host !== undefined && parseHost(host)?.port === undefined)
    response.setHeader("strict-transport-security", `max-age=${YEAR_S}`);
}

/** In Safari before 16 'self' does not include WebSockets of the same server. */
function pagePolicy({ host = "", isHttps }: Client, avatars: AvatarSource): string {
  const parsed = parseHost(host);
  const sockets =
    parsed === undefined
      ? []
      : (isHttps ? ["wss"] : ["ws", "wss"]).map((scheme) => formatOrigin({ scheme, host: parsed }));
  const images = `img-src 'self' data:${avatars === "https" ? " https:" : ""}`;
  return [PAGE_POLICY, images, ["connect-src 'self'", ...sockets].join(" ")].join("; ");
}
