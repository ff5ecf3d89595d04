import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";
import { Descriptors } from "../lib/os/descriptors.ts";
import { ServiceError } from "../protocol/errors.ts";
import { Shortage } from "./limits/shortage.ts";
import { refuse } from "./reply.ts";
import { isUpload } from "./request-body.ts";
import { createHttpsServer, isHandshakeFailure, type TlsIdentity } from "./tls.ts";
import type { Upgrade } from "./upgrade.ts";

/**
 * Longer than proxies in front keep idle connections, because a request on a connection that is just being closed
 * fails. On unix sockets only clients close (0).
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * Connections waiting to be accepted: after a restart all remotes of an HQ connect at once. The system may allow
 * fewer.
 */
const BACKLOG = 4_096;
/** Closing idle connections is expensive: only at every so many new ones. */
const CROWD_STEP = 64;

const STOP_TIMEOUT_MS = 1_000;

/** `option`: the option that sets the address, if it is not --bind and --port. */
export type Place =
  | { readonly host: string; readonly port: number; readonly option?: string }
  | { readonly path: string };

const LIMITS = {
  headTimeoutMs: 10_000,
  /** From the head to the end of the body, unless that is a file. */
  requestTimeoutMs: 30_000,
  timeoutLookMs: 1_000,
  /** An answer without progress for this long is aborted. */
  stalledAnswerMs: 120_000,
  /** Connections with an incomplete request; over that the oldest is closed. */
  maxUnfinished: 4_096,
  /** Requests sent before the last answer of their connections; over that a connection with a further one is closed. */
  maxWaiting: 4_096,
  /** From the first number on idle connections are closed; above the second no new ones are accepted. */
  crowdedConnections: 12_288,
  maxConnections: 16_384,
};
type Limits = Readonly<typeof LIMITS>;

export type RequestHandlers = {
  readonly request: RequestListener;
  readonly upgrade: Upgrade;
  /** The process runs out of file descriptors, or has some again. */
  readonly onShortage?: (isShort: boolean) => void;
};

function optionsOf({ headTimeoutMs, timeoutLookMs }: Limits, place: Place): ServerOptions {
  return {
    // Bodies have a time limit of their own, see `#heard`: a large file may take long.
    ...{ headersTimeout: headTimeoutMs, requestTimeout: 0, noDelay: true },
    connectionsCheckingInterval: timeoutLookMs,
    keepAliveTimeout: "path" in place ? 0 : KEEP_ALIVE_MS,
    // The router reports invalid Host headers.
    requireHostHeader: false,
    // Clients that offer HTTP/2 (curl --http2) get an answer in HTTP/1.1.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

/**
 * A listening HTTP or HTTPS server, protected against slow clients and many connections. Disposing it stops it with a
 * short grace period.
 */
export class Listener implements AsyncDisposable {
  readonly #server: Server;
  readonly #upgrade: Upgrade;
  readonly #limits: Limits;
  readonly #sockets = new Map<ConnectionId, Socket>();
  /** Connections with an incomplete request, oldest first. */
  readonly #unfinished = new Set<ConnectionId>();
  readonly #responses = new Set<ServerResponse>();
  /** Unanswered requests that were sent before the last answer of their connection. */
  #waiting = 0;
  #refused = 0;
  #stopping: Promise<{ readonly broken: number }> | undefined;
  #isLast = false;

  readonly #shortage: Shortage;

  private constructor(
    server: Server,
    { request, upgrade, onShortage = () => {} }: RequestHandlers,
    limits: Limits,
  ) {
    this.#server = server;
    this.#upgrade = upgrade;
    this.#limits = limits;
    this.#shortage = new Shortage(new Descriptors(() => performance.now()), onShortage);
    server.maxConnections = limits.maxConnections;
    server.on("connection", (socket) => this.#opened(socket));
    server.on("drop", () => {
      this.#refused += 1;
    });
    server.on("request", (incoming, response) => {
      if (this.#isRefused(incoming)) return;
      const begin = (): void => {
        this.#heard(incoming);
        this.#responses.add(response);
        response.once("close", () => this.#responses.delete(response));
        if (this.#isLast) response.shouldKeepAlive = false;
        request(incoming, response);
      };
      if (response.socket === null) this.#pipelined(incoming, response, begin);
      else begin();
    });
    // Other expectations than 100-continue are ignored.
    server.on("checkExpectation", (incoming, response) => server.emit("request", incoming, response));
    server.on("clientError", (error, socket) => this.#failed(error, socket));
    server.on("upgrade", (incoming, socket, head) => {
      // node:http has removed its own listener; without one a disconnect would end the process.
      socket.on("error", () => {});
      this.#unfinished.delete(idOf(incoming.socket));
      if (!this.#isRefused(incoming)) upgrade.handle(incoming, socket, head);
    });
  }

  /** With `tls`: HTTPS. ServiceError `start_failed` for an unusable address or certificate. */
  static async open(
    place: Place,
    handlers: RequestHandlers,
    tls?: TlsIdentity,
    limits: Partial<Limits> = {},
  ): Promise<Listener> {
    const all = { ...LIMITS, ...limits };
    const options = optionsOf(all, place);
    const server = tls === undefined ? createServer(options) : createHttpsServer(tls, options);
    const listener = new Listener(server, handlers, all);
    if ("host" in place) server.setTimeout(all.stalledAnswerMs, (socket) => listener.#stalled(socket));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", (cause) => {
      reject(new ServiceError("start_failed", refusal(place, cause), { cause }));
    });
    server.listen({ ...place, backlog: BACKLOG }, resolve);
    await promise;
    server.removeAllListeners("error");
    // Failures to accept a connection affect only that one.
    server.on("error", () => {});
    return listener;
  }

  /** `refused`: connections refused since the start. */
  get connections(): { readonly open: number; readonly limit: number; readonly refused: number } {
    return { open: this.#sockets.size, limit: this.#limits.maxConnections, refused: this.#refused };
  }

  /** The port of a TCP listener, for port 0 the one that the system chose. */
  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** From now on every answer closes its connection: the next request may find another server. */
  endKeepAlive(): void {
    this.#isLast = true;
  }

  /**
   * Accepts no new connections, closes WebSockets and endless streams. Other answers have `graceMs`, idle connections
   * a moment. Resolves with the number of aborted answers; later calls wait for the first.
   */
  stop(graceMs: number): Promise<{ readonly broken: number }> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(STOP_TIMEOUT_MS);
  }

  async #stop(graceMs: number): Promise<{ readonly broken: number }> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#upgrade.close();
    for (const response of this.#responses) {
      endIfEndless(response);
      // The body of an answer that is not ready yet.
      response.once("pipe", () => endIfEndless(response));
      response.once("close", () => this.#server.closeIdleConnections());
    }
    let broken = 0;
    const silent = setTimeout(() => this.#closeAllBut(this.#responses), Math.min(graceMs, STOP_TIMEOUT_MS));
    const late = setTimeout(() => {
      broken = this.#responses.size;
      this.#closeAllBut(new Set());
    }, graceMs);
    await promise;
    this.#shortage[Symbol.dispose]();
    clearTimeout(silent);
    clearTimeout(late);
    return { broken };
  }

  #isRefused({ socket }: IncomingMessage): boolean {
    return this.#shortage.answers(socket, idOf(socket));
  }

  #opened(socket: Socket): void {
    const isPlain = !(this.#server instanceof TlsServer);
    const id = idOf(socket);
    if (this.#shortage.meets(socket, id, isPlain)) this.#refused += 1;
    this.#sockets.set(id, socket);
    this.#expectRequest(id);
    const { size } = this.#sockets;
    if (size > this.#limits.crowdedConnections && size % CROWD_STEP === 0)
      this.#server.closeIdleConnections();
    socket.once("close", () => {
      this.#sockets.delete(id);
      this.#unfinished.delete(id);
    });
  }

  /** A client need not wait for its last answer: the next request begins when node:http gives its answer the socket. */
  #pipelined({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
    if (this.#waiting >= this.#limits.maxWaiting) {
      socket.destroy();
      return;
    }
    this.#waiting += 1;
    response.once("socket", begin);
    response.once("close", () => {
      this.#waiting -= 1;
    });
  }

  /** The head of a request has arrived; its body may be missing. */
  #heard(request: IncomingMessage): void {
    const { socket, headers } = request;
    const id = idOf(socket);
    this.#unfinished.delete(id);
    if ((headers["content-length"] ?? "0") === "0" && headers["transfer-encoding"] === undefined) return;
    this.#expectRequest(id);
    const late = isUpload(request)
      ? undefined
      : setTimeout(() => this.#late(request), this.#limits.requestTimeoutMs);
    request.once("close", () => {
      clearTimeout(late);
      this.#unfinished.delete(id);
    });
  }

  #late({ complete, socket }: IncomingMessage): void {
    if (complete) return;
    this.#failed(Object.assign(new Error("request timeout"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  }

  #expectRequest(id: ConnectionId): void {
    this.#unfinished.add(id);
    const [oldest] = this.#unfinished;
    if (oldest === undefined || this.#unfinished.size <= this.#limits.maxUnfinished) return;
    this.#unfinished.delete(oldest);
    this.#sockets.get(oldest)?.destroy();
  }

  /** A stream may be silent for days, but what it has sent must be read. */
  #stalled(socket: Socket): void {
    const isAnswering = [...this.#responses].some((response) => response.socket === socket);
    if (socket.writableLength > 0 || !isAnswering) socket.destroy();
  }

  /**
   * Answers with the error, unless another answer has begun, the error belongs to later data, or the connection was
   * never used.
   */
  #failed(error: Error, socket: Duplex): void {
    const answering = [...this.#responses].find((response) => response.socket === socket);
    const isUnused = "bytesRead" in socket && socket.bytesRead === 0;
    const isTooLate = answering !== undefined && (answering.headersSent || answering.req.complete);
    if (isUnused || isTooLate || !socket.writable || isHandshakeFailure(error)) socket.destroy();
    else refuse(socket, unreadable(error));
  }

  #closeAllBut(responses: ReadonlySet<ServerResponse>): void {
    const answering = new Set([...responses].map(({ socket }) => socket && idOf(socket)));
    for (const [id, socket] of this.#sockets) if (!answering.has(id)) socket.destroy();
  }
}

/** For requests that node:http could not parse, by its error code. */
function unreadable({ code, message }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new ServiceError("headers_too_large", "the address and the headers together may have 16 KiB");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ServiceError("request_timeout", "the request did not arrive whole in time: send it again");
    default:
      return new ServiceError("invalid_request", `this is no HTTP request: ${message}`);
  }
}

/** An unfinished body without a length may never end; a finished one leaves by itself. */
function endIfEndless(response: ServerResponse): void {
  const isOpen = response.headersSent && !response.writableEnded;
  if (isOpen && !response.hasHeader("content-length")) response.destroy();
}

/** The address of the client, because TLS has two sockets for each connection. A unix socket has none. */
type ConnectionId = string | Socket;

function idOf(socket: Socket): ConnectionId {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? socket : `${remoteAddress} ${remotePort}`;
}

function refusal(place: Place, { code, message }: NodeJS.ErrnoException): string {
  if ("path" in place) return `cannot listen on ${place.path}: ${message}`;
  const { host, port, option } = place;
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is taken: stop what listens there, or give another one with ${option ?? "--port"}`;
    case "EACCES":
      return `this user may not listen on port ${port}: give one from 1024 on with ${option ?? "--port"}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is no address of this machine: give one of its own with ${option ?? "--bind"}`;
    default:
      return `cannot listen on port ${port} of ${host}: ${message}`;
  }
}
