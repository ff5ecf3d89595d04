import type { IncomingMessage, RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import { inTrace, type Trace, traceOf } from "../lib/trace.ts";

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** All that is done for a request is known by its id, which its answer says. */
export function traced(listener: RequestListener): RequestListener {
  return (request, response) => {
    const trace = begin(request);
    response.setHeader("x-request-id", trace.requestId);
    inTrace(trace, () => listener(request, response));
  };
}

/** The same for a handshake, whose answer is for the listener to write. */
export function tracedUpgrade(listener: UpgradeListener): UpgradeListener {
  return (request, socket, head) => inTrace(begin(request), () => listener(request, socket, head));
}

/** Whoever hands the request on, hands on that id. */
function begin(request: IncomingMessage): Trace {
  const trace = traceOf(request.headers);
  request.headers["x-request-id"] = trace.requestId;
  return trace;
}
