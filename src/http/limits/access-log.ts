import type { IncomingMessage, ServerResponse } from "node:http";
import { currentTrace, inTrace } from "../../lib/trace.ts";
import type { Log } from "../../log.ts";
import type { RequestContext } from "../audit-hook.ts";
import type { ClientOf } from "../client-address.ts";
import type { RequestMeter } from "../request-meter.ts";

/** What is known of a request that is under way. */
type Passing = {
  readonly beganMs: number;
  answeredMs?: number;
  endpoint?: string;
  seen?: Pick<RequestContext, "principal">;
};

type AccessLogParts = {
  readonly log: Pick<Log, "debug">;
  readonly clientOf: ClientOf;
  readonly meter?: RequestMeter | undefined;
};

/** A line for each request, and its place among the figures. Never the query, which may hold a ticket, nor a header. */
export class AccessLog {
  readonly #passing = new WeakMap<ServerResponse, Passing>();
  readonly #parts: AccessLogParts;

  constructor(parts: AccessLogParts) {
    this.#parts = parts;
  }

  /** `path`: without query and fragment. */
  begin(request: IncomingMessage & { readonly path: string }, response: ServerResponse): void {
    const { method = "GET", path } = request;
    const { address } = this.#parts.clientOf(request);
    const passing: Passing = { beganMs: performance.now() };
    this.#passing.set(response, passing);
    const trace = currentTrace();
    // The end of a connection belongs to no request.
    response.once("close", () =>
      inTrace(trace, () => this.#end(response, passing, { method, path, address })),
    );
  }

  /** It is for that endpoint; `seen` will say who asks. */
  found(response: ServerResponse, endpoint: string, seen: Pick<RequestContext, "principal">): void {
    const passing = this.#passing.get(response);
    if (passing === undefined) return;
    passing.endpoint = endpoint;
    passing.seen = seen;
  }

  /** From here on it is the client that takes its time, or an answer that goes on for days. */
  answered(response: ServerResponse): void {
    const passing = this.#passing.get(response);
    if (passing !== undefined) passing.answeredMs ??= performance.now();
  }

  #end(
    { headersSent, statusCode }: ServerResponse,
    { beganMs, answeredMs, endpoint, seen }: Passing,
    request: { readonly method: string; readonly path: string; readonly address: string | undefined },
  ): void {
    const { log, meter } = this.#parts;
    const now = performance.now();
    const status = headersSent ? statusCode : undefined;
    meter?.passed({ endpoint, method: request.method, status, tookMs: (answeredMs ?? now) - beganMs });
    const user = seen?.principal?.user;
    log.debug({ ...request, status, ms: Math.round(now - beganMs), endpoint, user }, "request");
  }
}
