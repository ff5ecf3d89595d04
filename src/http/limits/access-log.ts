import type { IncomingMessage, ServerResponse } from "node:http";
import { currentTrace, inTrace } from "../../lib/trace.ts";
import type { Log } from "../../log.ts";
import type { RequestContext } from "../audit-hook.ts";
import type { ClientOf } from "../client-address.ts";
import type { RequestMeter } from "../request-meter.ts";

/** A request in progress, completed by those who handle it. */
export type Passing = {
  readonly beganMs: number;
  /** When the answer was ready: the rest of the time is the client's, or that of an endless stream. */
  answeredMs?: number;
  endpoint?: string;
  seen?: Pick<RequestContext, "principal">;
};

type AccessLogParts = {
  readonly log: Pick<Log, "debug">;
  readonly clientOf: ClientOf;
  readonly meter?: RequestMeter | undefined;
};

/** A log line and metrics for each request; no headers and no query, which may hold a ticket. */
export function accessLog({ log, clientOf, meter }: AccessLogParts) {
  /** `path`: without query and fragment. */
  return (request: IncomingMessage & { readonly path: string }, response: ServerResponse): Passing => {
    const { method = "GET", path } = request;
    const { address } = clientOf(request);
    const passing: Passing = { beganMs: performance.now() };
    const end = (): void => {
      const { beganMs, answeredMs, endpoint, seen } = passing;
      const now = performance.now();
      const status = response.headersSent ? response.statusCode : undefined;
      meter?.passed({ endpoint, method, status, tookMs: (answeredMs ?? now) - beganMs });
      const user = seen?.principal?.user;
      log.debug({ method, path, address, status, ms: Math.round(now - beganMs), endpoint, user }, "request");
    };
    const trace = currentTrace();
    // The connection's `close` event belongs to no request.
    response.once("close", () => inTrace(trace, end));
    return passing;
  };
}
