import type { IncomingMessage, ServerResponse } from "node:http";

/** xterm sets styles from script; everything else comes from our own files. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const HASHED_ASSETS = /[/\\]assets[/\\]/;
const YEAR_S = 31_536_000;

export function setSecurityHeaders(_: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader("content-security-policy", CONTENT_SECURITY_POLICY);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("x-frame-options", "DENY");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  next();
}

/** How the page's files are served: hashed ones are kept for a year, the rest is looked at again each time. */
export const PAGE_FILES = {
  index: "index.html",
  dotfiles: "ignore",
  redirect: false,
  setHeaders: (response: ServerResponse, path: string): void => {
    const isHashed = HASHED_ASSETS.test(path);
    response.setHeader("cache-control", isHashed ? `public, max-age=${YEAR_S}, immutable` : "no-cache");
  },
} as const;
