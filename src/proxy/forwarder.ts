// The one door to http-proxy-3: requests and WebSockets on their way to the server behind.
import { Agent, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createProxyServer, type ProxyServer } from "http-proxy-3";
import { ServiceError } from "../protocol/errors.ts";

/** What one side is given to close its own when the other one is gone. */
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_FREE_CONNECTIONS = 64;

/** Between this machine and the next one alone (RFC 9110, 7.6.1); node:http sets its own. */
const OF_THIS_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Sends on to the server at a loopback address what it is told to, with the headers that it is given and no others. Bodies
 * go through as they come, no faster than they are taken; when one side breaks off, so does the other.
 */
export class Forwarder implements Disposable {
  readonly #server: ProxyServer;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_FREE_CONNECTIONS, scheduling: "lifo" });
  readonly #headers = new WeakMap<IncomingMessage, IncomingHttpHeaders>();
  readonly #upgraded = new WeakSet<IncomingMessage>();
  readonly #answers: Answers;
  #port: number | undefined;

  constructor(answers: Answers) {
    this.#answers = answers;
    // The path goes on as it came: parsed and written again it might be another one.
    this.#server = createProxyServer({ toProxy: true, selfHandleResponse: true });
    // After every pass that touches headers: one of them says of chunked bodies that they are empty.
    this.#server.before("web", "stream", (request) => this.#setHeaders(request));
    this.#server.before("ws", "stream", (request) => this.#setHeaders(request));
    this.#server.on("proxyRes", (answer, _, response) => relay(answer, response));
    this.#server.on("proxyReqWs", (outgoing, request, socket) => {
      outgoing.once("upgrade", (_, upstream) => {
        this.#upgraded.add(request);
        closeTogether(socket, upstream);
      });
      socket.once("close", () => !this.#upgraded.has(request) && outgoing.destroy());
    });
    // Errors are told where they happen, to the callbacks below.
    this.#server.on("error", () => undefined);
  }

  /** From now on, to this port of 127.0.0.1. */
  set port(port: number) {
    this.#port = port;
  }

  request(request: IncomingMessage, response: ServerResponse, headers: IncomingHttpHeaders): void {
    this.#headers.set(request, headers);
    const options = { target: this.#target, agent: this.#agent };
    this.#server.web(request, response, options, (error) => {
      // An answer that has begun ends by itself, or breaks off, see relay.
      if (!response.headersSent && !response.destroyed) this.#answers.error(response, unreachable(error));
    });
  }

  socket(request: IncomingMessage, socket: Duplex, head: Buffer, headers: IncomingHttpHeaders): void {
    this.#headers.set(request, headers);
    this.#server.ws(request, socket, head, { target: this.#target, selfHandleResponse: false }, (error) => {
      if (!this.#upgraded.has(request) && socket.writable) this.#answers.refuse(socket, unreachable(error));
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  get #target(): { readonly host: string; readonly port: number; readonly protocol: string } {
    if (this.#port === undefined) throw unreachable(undefined);
    return { host: "127.0.0.1", port: this.#port, protocol: "http:" };
  }

  #setHeaders(request: IncomingMessage): void {
    request.headers = this.#headers.get(request) ?? {};
  }
}

function relay(answer: IncomingMessage, response: ServerResponse): void {
  const { rawHeaders } = answer;
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (!OF_THIS_HOP.has(name.toLowerCase())) kept.push(name, value);
  }
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, kept);
  // The head of a stream is not to wait for the first thing that happens.
  if (answer.headers["content-length"] === undefined) response.flushHeaders();
  // The other way round the library sees to it: a client that leaves takes the request along.
  answer.once("close", () => !answer.readableEnded && response.destroy());
  answer.on("error", () => undefined);
  answer.pipe(response);
}

/** Each side is ended by the library when the other is; one whose peer does not answer that would stay for ever. */
function closeTogether(...sides: readonly Duplex[]): void {
  for (const side of sides) {
    side.once("close", () => {
      const late = setTimeout(() => {
        for (const each of sides) each.destroy();
      }, CLOSE_TIMEOUT_MS);
      late.unref();
    });
  }
}

function unreachable(cause: unknown): ServiceError {
  return new ServiceError("server_unreachable", "the server behind this proxy does not answer", { cause });
}

/** How errors are told to programs: as the server itself does, who hands it in. */
export type Answers = {
  readonly error: (response: ServerResponse, error: unknown) => void;
  /** Where a WebSocket was asked for; closes the connection. */
  readonly refuse: (socket: Duplex, error: unknown) => void;
};

/** Where a request came from, and under which name, as the server itself sees it. */
export type Client = { readonly address: string | undefined; readonly host: string | undefined };
