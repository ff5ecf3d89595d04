import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { currentTrace } from "../../lib/trace.ts";
import { errorBody, ServiceError } from "../../protocol/errors.ts";
import { errorHeaders, statusOf } from "../reply.ts";

/** Answers with an error, as http/reply.ts does, on a bare socket, and closes it. */
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

/** For requests that node:http could not parse, by its error code. */
export function unreadable({ code, message }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new ServiceError("headers_too_large", "the address and the headers together may have 16 KiB");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ServiceError("request_timeout", "the request did not arrive whole in time: send it again");
    default:
      return new ServiceError("invalid_request", `this is no HTTP request: ${message}`);
  }
}
