// HTTP requests to another process, over a unix socket or to an http(s) origin.
import {
  Agent,
  request as httpRequest,
  type IncomingMessage,
  type ClientRequest as NodeRequest,
} from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { urlToHttpOptions } from "node:url";
import { currentTrace, traceHeaders } from "../lib/trace.ts";
import type { ClientRequest, ClientResponse, Send } from "../protocol/client/send.ts";
import { socketAgent } from "./exact-socket.ts";
import { trusting } from "./trust.ts";
import { tunnelAgent } from "./tunnel.ts";
import { unreachable } from "./unreachable.ts";
import type { UplinkTarget } from "./uplink.ts";

/** Maximum of idle connections: 100 requests at once, twice in a row, take a sixth less CPU time than with 16. */
const MAX_FREE_CONNECTIONS = 128;

/** Codes of a request over a connection that the other side has closed: EPIPE on unix sockets. */
const CLOSED: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE"]);

/** Where none is given, Node looks for one by slow patterns for IP addresses: a tenth of a short command. */
const NO_TLS = "";

/** A request whose body is sent at the pace of the other side. If the body throws, the request is cut off. */
type StreamedRequest = Omit<ClientRequest, "body"> & { readonly body: AsyncIterable<Uint8Array> };
type AnyRequest = ClientRequest | StreamedRequest;

/** Has its own connections; disposal closes idle ones. Does not follow redirects. */
export type Sender = Disposable & { readonly send: (request: AnyRequest) => ReturnType<Send> };

export function createSender(target: UplinkTarget): Sender {
  const agent = agentFor(target);
  let isDisposed = false;
  /** Retries a repeatable request when a kept connection turns out to be closed. */
  const send = async (request: AnyRequest): Promise<ClientResponse> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | "stale">();
    const outgoing = open(target, agent, request);
    outgoing.once("response", resolve);
    outgoing.once("error", (error) => {
      const isStale = outgoing.reusedSocket && "code" in error && CLOSED.has(error.code);
      if (request.signal.aborted) reject(request.signal.reason);
      else if (isStale && isRepeatable(request) && !isDisposed) resolve("stale");
      else reject(unreachable(target, "no answer", error));
    });
    const { body: sent } = request;
    if (sent === undefined || typeof sent === "string") outgoing.end(sent);
    // Its failure comes before that of the connection, which is its consequence. An answer may come before its end.
    else void pipeline(Readable.from(sent, { objectMode: false }), outgoing).catch(reject);
    const response = await promise;
    if (response === "stale") return await send(request);
    const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    const body = bodyOf(target, request, response);
    return { status: response.statusCode ?? 500, headers: new Map(headers), body };
  };
  return {
    send,
    [Symbol.dispose]: () => {
      isDisposed = true;
      agent.destroy();
    },
  };
}

function agentFor(target: UplinkTarget): Agent {
  const options = { keepAlive: true, maxFreeSockets: MAX_FREE_CONNECTIONS, scheduling: "lifo" } as const;
  const local = { ...options, servername: NO_TLS };
  if ("socketPath" in target) return socketAgent(target, local);
  if (target.tunnel !== undefined) return tunnelAgent(target.tunnel.remoteId, target.tunnel.connect);
  const isTls = new URL(target.url).protocol === "https:";
  return isTls ? new (https().Agent)({ ...options, ...trusting(target.ca) }) : new Agent(options);
}

/** Loaded on demand: clients of a unix socket, such as most commands, do not need it. */
function https(): typeof import("node:https") {
  return process.getBuiltinModule("node:https");
}

/**
 * Whether the request may be executed twice (RFC 9110, 9.2.2). Not the DELETE of a session: the first one ends it, a second
 * one removes its recording.
 */
function isRepeatable({ method, path }: AnyRequest): boolean {
  return method === "GET" || (method === "DELETE" && !path.startsWith("/api/sessions/"));
}

async function* bodyOf(
  target: UplinkTarget,
  { signal }: AnyRequest,
  response: IncomingMessage,
): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Error ? unreachable(target, "the answer ended early", error) : error;
  }
}

function open(target: UplinkTarget, agent: Agent, request: AnyRequest): NodeRequest {
  const { method, path, signal, body } = request;
  const length = typeof body === "string" ? { "content-length": Buffer.byteLength(body) } : {};
  const common = { method, agent, signal, path };
  const own = { ...traceHeaders(currentTrace()), ...request.headers, ...length };
  if ("socketPath" in target) return httpRequest({ ...common, headers: own });
  const headers = { ...target.headers, ...own };
  const { protocol, hostname, port } = urlToHttpOptions(new URL(target.url));
  const make = protocol === "https:" ? https().request : httpRequest;
  return make({ ...common, hostname, port, headers });
}
