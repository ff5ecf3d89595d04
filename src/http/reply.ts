import { type ServerResponse, STATUS_CODES } from "node:http";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { currentTrace } from "../lib/trace.ts";
import { errorBody, ServiceError } from "../protocol/errors.ts";
import type { Media } from "./route.ts";

/** WWW-Authenticate of every 401 (RFC 9110, 11.6.1). */
const LOGIN_SCHEME = 'Bearer realm="ttyhq"';

export const WEBSOCKET_VERSIONS = "13, 8";

/** Sends the body at once; the answer ends after `end`. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  end?: Promise<void>,
): void {
  const body = value instanceof Uint8Array ? value : JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  });
  if (end === undefined) {
    response.end(body);
    return;
  }
  response.write(body);
  void end.then(() => response.end());
}

/** Sends a body at the client's pace. If the body fails, the connection is aborted, so that the client notices. */
export async function sendMedia(response: ServerResponse, status: number, media: Media): Promise<void> {
  response.writeHead(media.status ?? status, {
    "cache-control": "no-store",
    ...media.headers,
    "content-type": media.type,
    ...(media.length === undefined ? {} : { "content-length": media.length }),
  });
  // A HEAD request does not wait for a body that may last for days.
  if (response.req.method === "HEAD") {
    response.end();
    return;
  }
  // A stream for a small body costs several times as much as the rest of the answer.
  if (media.body instanceof Uint8Array) {
    response.end(media.body);
    return;
  }
  response.flushHeaders();
  await pipeline(Readable.from(media.body, { objectMode: false }), response);
}

/**
 * All errors have one shape (contract 4.1). `bodyEnd`: the rest of the request's body was discarded. A connection that
 * closes earlier is reset, and a client that is still sending loses the answer.
 */
export function sendError(response: ServerResponse, error: unknown, bodyEnd?: Promise<void>): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const [name, value] of Object.entries(errorHeaders(error))) response.setHeader(name, value);
  sendJson(response, statusOf(error), errorBody(error), bodyEnd);
}

/** The same on a bare socket, which it closes. */
export function refuse(socket: Duplex, error: unknown): void {
  const status = statusOf(error);
  const body = JSON.stringify(errorBody(error));
  const trace = currentTrace();
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    "Connection: close",
    ...(trace === undefined ? [] : [`X-Request-Id: ${trace.requestId}`]),
    ...Object.entries(errorHeaders(error)).map(([name, value]) => `${name}: ${value}`),
  ];
  // Otherwise a client that does not close its side would keep the socket open forever.
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

export function statusOf(error: unknown): number {
  return error instanceof ServiceError ? error.status : 500;
}

/**
 * Headers of an error: how to log in, when to retry, the whole length, the versions of WebSocket (RFC 6455, 4.4). The details
 * may be another server's, so no text of them becomes a header.
 */
function errorHeaders(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ServiceError)) return {};
  const { status, code, details } = error;
  return {
    ...(status === 401 ? { "www-authenticate": LOGIN_SCHEME } : {}),
    ...(typeof details.retryAfterSeconds === "number"
      ? { "retry-after": `${details.retryAfterSeconds}` }
      : {}),
    ...(code === "range_not_satisfiable"
      ? { "content-range": `bytes */${typeof details.length === "number" ? details.length : 0}` }
      : {}),
    ...("webSocketVersions" in details ? { "sec-websocket-version": WEBSOCKET_VERSIONS } : {}),
  };
}
