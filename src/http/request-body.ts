// Request bodies: parsed as JSON, or discarded if the request was refused.
import type { IncomingMessage } from "node:http";
import { collectBytes } from "../lib/data/collect.ts";
import { ServiceError } from "../protocol/errors.ts";

/**
 * After each piece (up to 64 KiB) of a discarded body: the client must receive the error, but not keep the server
 * busy.
 */
const DISCARD_PAUSE_MS = 20;

/** No request needs more levels; deeper nesting would exhaust recursive code. */
const MAX_DEPTH = 32;

/** Undefined for an empty body. ServiceError `body_too_large`, unread if the length was announced. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const { "content-encoding": encoding = "identity", "content-length": length = "0" } = request.headers;
  if (length === "0" && request.headers["transfer-encoding"] === undefined) return undefined;
  if (encoding !== "identity")
    throw new ServiceError("invalid_request", "a body is sent without a content encoding");
  if (Number(length) > limit) throw bodyTooLarge(limit);
  const bytes = await collectBytes(request.iterator({ destroyOnReturn: false }), limit).catch((cause) => {
    if (cause instanceof RangeError) throw bodyTooLarge(limit);
    throw new ServiceError("invalid_request", "the body ended too early", { cause });
  });
  if (bytes.length === 0) return undefined;
  const value = parsed(bytes);
  refuseDeep(value);
  return value;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new ServiceError("invalid_json", "the body is no JSON", { cause });
  }
}

/** Throws `invalid_request` for a value that is nested deeper than MAX_DEPTH, without ever calling itself. */
export function refuseDeep(value: unknown): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) {
      throw new ServiceError("invalid_request", `the body is nested deeper than ${MAX_DEPTH} levels`);
    }
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
}

export function bodyTooLarge(limit: number): ServiceError {
  return new ServiceError("body_too_large", `a body has at most ${limit} bytes here`);
}

/** Reads the rest of a body slowly; node:http would read it at full speed once the answer is sent. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete) return;
  request.on("data", () => {
    request.pause();
    setTimeout(() => request.resume(), DISCARD_PAUSE_MS);
  });
}
