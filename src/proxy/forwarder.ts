// The only importer of http-proxy-3: forwards requests and WebSockets.
import { Agent, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createProxyServer, type ProxyServer } from "http-proxy-3";
import { ServiceError } from "../protocol/errors.ts";
import { OF_THIS_HOP } from "./forwarded-headers.ts";

/** Time for one side to close after the other has closed. */
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_FREE_CONNECTIONS = 64;

/**
 * Forwards to a server on a loopback address with exactly the given headers. Bodies pass through at the reader's
 * pace; an abort of one side aborts the other.
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
    // The path is not parsed and rewritten, which could change it.
    this.#server = createProxyServer({ toProxy: true, selfHandleResponse: true });
    // After all passes that change headers: one of them declares chunked bodies empty.
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
    // The callbacks below report errors.
    this.#server.on("error", () => undefined);
  }

  /** The port on 127.0.0.1. */
  set port(port: number) {
    this.#port = port;
  }

  request(request: IncomingMessage, response: ServerResponse, headers: IncomingHttpHeaders): void {
    this.#headers.set(request, headers);
    const options = { target: this.#target, agent: this.#agent };
    this.#server.web(request, response, options, (error) => {
      // An answer that has begun is completed or aborted by relay.
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
  // Sends the head of a stream before its first data.
  if (answer.headers["content-length"] === undefined) response.flushHeaders();
  // The library handles the opposite direction: a disconnected client aborts the request.
  answer.once("close", () => !answer.readableEnded && response.destroy());
  answer.on("error", () => undefined);
  answer.pipe(response);
}

/** The library ends each side after the other; this closes a side whose peer does not react. */
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

/** Error answers for programs, the same as the server's. */
export type Answers = {
  readonly error: (response: ServerResponse, error: unknown) => void;
  /** For WebSockets; closes the connection. */
  readonly refuse: (socket: Duplex, error: unknown) => void;
};

/** As the server sees it. */
export type Client = { readonly address: string | undefined; readonly host: string | undefined };
