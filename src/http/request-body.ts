// Request bodies: parsed as JSON, or discarded if the request was refused.
import type { IncomingMessage } from "node:http";
import { collectBytes } from "../lib/data/collect.ts";
import { parseShallowJson } from "../lib/data/json.ts";
import { pathOf } from "../lib/net/request-head.ts";
import { matchPath } from "../protocol/endpoints/endpoint.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_BODY_VALUES } from "../protocol/limits.ts";
import type { Upload } from "./route.ts";

/** After each piece (up to 64 KiB) of a discarded body. */
const DISCARD_PAUSE_MS = 20;
/** Several times as long as 16 MiB take at that pace. */
const DISCARD_TIMEOUT_MS = 15_000;
const CLIENT_IDLE_MS = 500;

/** Whether the body is a file, which comes at the pace of the disk and of the network. */
export function isUpload({ method, url = "" }: Pick<IncomingMessage, "method" | "url">): boolean {
  // As the router matches it: a slash may follow.
  const segments = pathOf(url).replace(/\/$/, "").split("/").slice(1);
  return method === "POST" && matchPath(endpoints.uploadFile, segments) !== undefined;
}

/** The body of such a request, unread. */
export function uploadOf(request: IncomingMessage): Upload {
  refuseEncoded(request);
  return { length: Number(request.headers["content-length"] ?? 0), body: bytesOf(request) };
}

async function* bytesOf(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* request.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw endedEarly(cause);
  }
}

function endedEarly(cause: unknown): ServiceError {
  return new ServiceError("invalid_request", "the body ended too early", { cause });
}

function refuseEncoded({ headers }: IncomingMessage): void {
  if ((headers["content-encoding"] ?? "identity") === "identity") return;
  throw new ServiceError("invalid_request", "a body is sent without a content encoding");
}

/** Undefined for an empty body. ServiceError `body_too_large`, unread if the length was announced. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const { "content-length": length = "0" } = request.headers;
  if (length === "0" && request.headers["transfer-encoding"] === undefined) return undefined;
  refuseEncoded(request);
  if (Number(length) > limit) throw bodyTooLarge(limit);
  const bytes = await collectBytes(request.iterator({ destroyOnReturn: false }), limit).catch((cause) => {
    if (cause instanceof RangeError) throw bodyTooLarge(limit);
    throw endedEarly(cause);
  });
  return bytes.length === 0 ? undefined : parsed(bytes);
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return parseShallowJson(new TextDecoder().decode(bytes), MAX_BODY_VALUES);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new ServiceError("invalid_request", `the body is ${cause.message}`, { cause });
    throw new ServiceError("invalid_json", "the body is no JSON", { cause });
  }
}

export function bodyTooLarge(limit: number): ServiceError {
  return new ServiceError("body_too_large", `a body has at most ${limit} bytes here`);
}

/**
 * Discards the rest of a refused body, slowly, so that it does not keep the server busy. Resolves when the body has
 * ended, when its client has been silent for a moment, or after a time limit, which bounds the bytes as well.
 * `undefined`: nothing is left.
 */
export function discardBody(request: IncomingMessage): Promise<void> | undefined {
  if (request.complete) return undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  let isSilent = false;
  // When this process has stood still, the timer is due before what has arrived meanwhile is read.
  const idle = setTimeout(() => {
    isSilent = true;
    setImmediate(() => {
      if (isSilent) resolve();
    });
  }, CLIENT_IDLE_MS);
  const late = setTimeout(resolve, DISCARD_TIMEOUT_MS);
  request.once("close", resolve);
  request.on("data", () => {
    request.pause();
    isSilent = false;
    idle.refresh();
    setTimeout(() => request.resume(), DISCARD_PAUSE_MS);
  });
  return promise.finally(() => [idle, late].forEach(clearTimeout));
}
