import type { IncomingMessage, RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import { inTrace, type Trace, traceOf } from "../lib/trace.ts";

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Runs a listener in the request's trace; the answer names its id. */
export function traced(listener: RequestListener): RequestListener {
  return (request, response) => {
    const trace = begin(request);
    response.setHeader("x-request-id", trace.requestId);
    inTrace(trace, () => listener(request, response));
  };
}

/** The same for handshakes, whose listeners write the answer themselves. */
export function tracedUpgrade(listener: UpgradeListener): UpgradeListener {
  return (request, socket, head) => inTrace(begin(request), () => listener(request, socket, head));
}

/** The header makes forwarded requests carry the same id. */
function begin(request: IncomingMessage): Trace {
  const trace = traceOf(request.headers);
  request.headers["x-request-id"] = trace.requestId;
  return trace;
}
