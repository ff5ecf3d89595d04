import type { IncomingMessage, ServerResponse } from "node:http";
import { rateLimit, type Store } from "express-rate-limit";
import type { Principal } from "../../auth/principal.ts";
import { addressKey } from "../../lib/net/address.ts";
import { ServiceError } from "../../protocol/errors.ts";

export const WINDOW_MS = 60_000;

/** Counts the calls of each caller in a window. */
export type CallCounts = Store;

export type Caller = { readonly principal: Principal | undefined; readonly address: string | undefined };

/** Counts a call; ServiceError `rate_limited` beyond the limit. Sets the draft-7 headers (contract 4.2). */
export type RateLimit = (request: IncomingMessage, response: ServerResponse, caller: Caller) => Promise<void>;

/**
 * `perMinute` calls for each user, or each address without login; undefined: no limit. Not counted: the private unix
 * socket, and a remote's HQ, which has counted its own clients. `store` counts them; by default this server's memory.
 */
export function createRateLimit(
  perMinute: number | undefined,
  { store, onRefused }: { readonly store?: CallCounts | undefined; readonly onRefused?: () => void } = {},
): RateLimit {
  if (perMinute === undefined) return async () => {};
  const callers = new WeakMap<object, Caller>();
  const limiter = rateLimit({
    windowMs: WINDOW_MS,
    limit: perMinute,
    ...(store && { store }),
    standardHeaders: "draft-7",
    legacyHeaders: false,
    validate: false,
    keyGenerator: (request) => callerKey(callers.get(request)),
    handler: (_, response, next) => {
      onRefused?.();
      const retryAfterSeconds = Number(response.getHeader("Retry-After"));
      const message = `more than ${perMinute} calls a minute: try again in ${retryAfterSeconds} s`;
      next(new ServiceError("rate_limited", message, { details: { retryAfterSeconds } }));
    },
  });
  return async (request, response, caller) => {
    const method = caller.principal?.method;
    if (method === "socket" || method === "hq") return;
    callers.set(request, caller);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // The library's types require express's request, but it only reads what the key generator reads.
    Reflect.apply(limiter, undefined, [
      request,
      response,
      (error: unknown) => (error === undefined ? resolve() : reject(error)),
    ]);
    await promise;
  };
}

function callerKey(caller: Caller | undefined): string {
  const { principal, address } = caller ?? {};
  if (principal !== undefined && principal.method !== "none") return `user ${principal.user}`;
  return `address ${addressKey(address)}`;
}
