// Pages of the proxy: a heading, a text, and a link or button.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ErrorCode, errorBody, ServiceError } from "../protocol/errors.ts";

type PlainPage = {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly action?: { readonly kind: "link" | "button"; readonly to: string; readonly text: string };
  /** Other origins to which the button may redirect. */
  readonly leadsTo?: readonly string[];
};

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem;color:#1b1b1f;background:#fff}" +
  "a,button{font:inherit;color:#fff;background:#2457c5;border:0;border-radius:.4rem;padding:.5rem 1rem;text-decoration:none;cursor:pointer}" +
  "@media(prefers-color-scheme:dark){body{color:#e4e4e9;background:#16161a}}";

export function sendPage(response: ServerResponse, page: PlainPage): void {
  const { status, title, text, action } = page;
  const body = [
    "<!doctype html>",
    `<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body><h1>${escaped(title)}</h1>`,
    `<p>${escaped(text)}</p>`,
    action === undefined ? "" : shown(action),
    "</body></html>",
  ].join("\n");
  setOwnHeaders(response, page.leadsTo);
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

/** 303 See Other: the browser follows with GET. */
export function redirect(response: ServerResponse, to: string): void {
  setOwnHeaders(response);
  response.writeHead(303, { location: to, "content-length": 0 });
  response.end();
}

/** Not "no-referrer", with which browsers send `Origin: null` with the button. */
function setOwnHeaders(response: ServerResponse, leadsTo: readonly string[] = []): void {
  const formAction = ["'self'", ...leadsTo].join(" ");
  const headers = {
    "cache-control": "no-store",
    "content-security-policy": `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action ${formAction}`,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function shown({ kind, to, text }: NonNullable<PlainPage["action"]>): string {
  if (kind === "link") return `<p><a href="${escaped(to)}">${escaped(text)}</a></p>`;
  return `<form method="post" action="${escaped(to)}"><button>${escaped(text)}</button></form>`;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES.get(character) ?? "");
}

const TITLES: Partial<Record<ErrorCode, string>> = {
  login_refused: "Not logged in",
  provider_unreachable: "The login does not work just now",
  server_unreachable: "The server does not answer",
  unauthorized: "Not logged in",
};

/** Whether a person navigates to a page, rather than a program or a part of a page. */
export function isNavigation({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean {
  const mode = headers["sec-fetch-mode"] ?? "navigate";
  return method === "GET" && headers.accept?.includes("text/html") === true && mode === "navigate";
}

export function sendRefusal(response: ServerResponse, error: unknown): void {
  const { error: message, code, details } = errorBody(error);
  const status = error instanceof ServiceError ? error.status : 500;
  const { retryAfterSeconds } = details;
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", `${retryAfterSeconds}`);
  const page: PlainPage = {
    ...{ status, title: TITLES[code] ?? "This did not work", text: sentence(message) },
    action: { kind: "link", to: "/", text: "Try again" },
  };
  sendPage(response, page);
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
