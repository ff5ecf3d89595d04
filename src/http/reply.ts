import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorBody, ServiceError } from "../protocol/errors.ts";
import { JsonBytes, type Media } from "./route.ts";

/** What WWW-Authenticate says with every 401 (RFC 9110, 11.6.1). */
export const LOGIN_SCHEME = 'Bearer realm="ttyhq"';

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = value instanceof JsonBytes ? value.bytes : JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  });
  response.end(body);
}

/** Sends a body as fast as the client reads it. A body that breaks off breaks the connection: a client sees that it is not whole. */
export async function sendMedia(response: ServerResponse, status: number, media: Media): Promise<void> {
  response.writeHead(media.status ?? status, {
    "cache-control": "no-store",
    ...media.headers,
    "content-type": media.type,
    ...(media.length === undefined ? {} : { "content-length": media.length }),
  });
  // Who asked for the head alone does not wait for a body that may go on for days.
  if (response.req.method === "HEAD") {
    response.end();
    return;
  }
  response.flushHeaders();
  await pipeline(Readable.from(media.body, { objectMode: false }), response);
}

/** The one shape of every error (contract 4.1). */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = error instanceof ServiceError ? error.status : 500;
  if (status === 401) response.setHeader("www-authenticate", LOGIN_SCHEME);
  if (error instanceof ServiceError && typeof error.details.retryAfterSeconds === "number") {
    response.setHeader("retry-after", error.details.retryAfterSeconds);
  }
  if (error instanceof ServiceError && error.code === "range_not_satisfiable") {
    response.setHeader("content-range", `bytes */${Number(error.details.length ?? 0)}`);
  }
  sendJson(response, status, errorBody(error));
}
