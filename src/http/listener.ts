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
import { ServiceError } from "../protocol/errors.ts";
import { refuse, unreadable } from "./refuse.ts";
import { createHttpsServer, isHandshakeFailure, type TlsIdentity } from "./tls.ts";
import type { Upgrade } from "./upgrade.ts";

/**
 * An idle connection that is closed just when its client sends on it fails a request for nothing: longer than proxies
 * in front keep theirs. Those on a private socket are closed by their clients alone (0).
 */
const KEEP_ALIVE_MS = 75_000;

/** Connections that wait to be accepted: after its restart all remotes of an HQ come at once. The system may allow less. */
const BACKLOG = 4_096;
/** Looking for idle connections takes a while: only every so many new ones. */
const CROWD_STEP = 64;

/** What requests that are being answered, and clients that are told to go, are given when the listener stops. */
const STOP_TIMEOUT_MS = 1_000;

/** Where one listens: an address, with the option that says so where it is not --bind and --port, or a unix socket. */
export type Place =
  | { readonly host: string; readonly port: number; readonly option?: string }
  | { readonly path: string };

/** What keeps those who are slow, on purpose or because they are gone, from keeping others out. */
const LIMITS = {
  /** For the head of a request, and for the whole of it. */
  headTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How often that is looked at. */
  timeoutLookMs: 1_000,
  /** An answer of which nothing was taken for so long is not being read. */
  stalledAnswerMs: 120_000,
  /** Connections that owe the rest of a request; over that the one that owes it longest is closed. */
  maxUnfinished: 4_096,
  /** From the first number on, connections that are idle are closed; over the second no new ones are taken. */
  crowdedConnections: 12_288,
  maxConnections: 16_384,
};
type Limits = Readonly<typeof LIMITS>;

type Handlers = { readonly request: RequestListener; readonly upgrade: Upgrade };

/** For node:http. */
function optionsOf({ headTimeoutMs, requestTimeoutMs, timeoutLookMs }: Limits, place: Place): ServerOptions {
  return {
    ...{ headersTimeout: headTimeoutMs, requestTimeout: requestTimeoutMs, noDelay: true },
    connectionsCheckingInterval: timeoutLookMs,
    keepAliveTimeout: "path" in place ? 0 : KEEP_ALIVE_MS,
    // What is wrong with a Host header is said in our own words.
    requireHostHeader: false,
    // Whoever would rather speak HTTP/2 (curl --http2) gets an answer in HTTP/1.1.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

/**
 * A listening HTTP or HTTPS server. Whoever is slow to ask, or opens many connections, keeps nobody else out: at most
 * `maxUnfinished` owe the rest of a request, and there are at most `maxConnections`. Disposing it takes no new connections, tells WebSockets to go, breaks streams off, waits a
 * moment for the answers that are under way, and then closes every connection.
 */
export class Listener implements AsyncDisposable {
  readonly #server: Server;
  readonly #upgrade: Upgrade;
  readonly #limits: Limits;
  readonly #sockets = new Set<Socket>();
  /** Those that owe the rest of a request, the oldest first. */
  readonly #unfinished = new Map<string, Socket>();
  readonly #responses = new Set<ServerResponse>();

  private constructor(server: Server, { request, upgrade }: Handlers, limits: Limits) {
    this.#server = server;
    this.#upgrade = upgrade;
    this.#limits = limits;
    server.maxConnections = limits.maxConnections;
    server.on("connection", (socket) => this.#opened(socket));
    server.on("request", (incoming, response) => {
      this.#heard(incoming);
      this.#responses.add(response);
      response.once("close", () => this.#responses.delete(response));
      request(incoming, response);
    });
    // Whatever a client expects beside 100-continue, it gets its answer.
    server.on("checkExpectation", (incoming, response) => server.emit("request", incoming, response));
    server.on("clientError", (error, socket) => this.#failed(error, socket));
    server.on("upgrade", (incoming, socket, head) => {
      this.#finished(incoming.socket);
      upgrade.handle(incoming, socket, head);
    });
  }

  /** With `tls` it speaks HTTPS. Rejects with `start_failed` when that place or that certificate is not to be had. */
  static async open(
    place: Place,
    handlers: Handlers,
    tls?: TlsIdentity,
    limits: Partial<Limits> = {},
  ): Promise<Listener> {
    const all = { ...LIMITS, ...limits };
    const options = optionsOf(all, place);
    const server = tls === undefined ? createServer(options) : createHttpsServer(tls, options);
    const listener = new Listener(server, handlers, all);
    if ("host" in place) server.setTimeout(all.stalledAnswerMs, (socket) => listener.#stalled(socket));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", (error) => reject(refused(place, error)));
    server.listen({ ...place, backlog: BACKLOG }, resolve);
    await promise;
    server.removeAllListeners("error");
    return listener;
  }

  /** Of a listener on an address: the port, which the system chose when it was asked for port 0. */
  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#upgrade.close();
    for (const response of this.#responses) {
      // A body that goes on has no end that could be waited for; one that was handed over leaves by itself.
      if (response.headersSent && !response.writableEnded) response.destroy();
      response.once("close", () => this.#server.closeIdleConnections());
    }
    const late = setTimeout(() => this.#closeAll(), STOP_TIMEOUT_MS);
    await promise;
    clearTimeout(late);
  }

  #opened(socket: Socket): void {
    this.#sockets.add(socket);
    const name = this.#owes(socket);
    const { size } = this.#sockets;
    if (size > this.#limits.crowdedConnections && size % CROWD_STEP === 0)
      this.#server.closeIdleConnections();
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (name !== undefined) this.#unfinished.delete(name);
    });
  }

  /** The head of a request is there, and perhaps its body is not. */
  #heard(request: IncomingMessage): void {
    const { socket, headers } = request;
    this.#finished(socket);
    if ((headers["content-length"] ?? "0") === "0" && headers["transfer-encoding"] === undefined) return;
    this.#owes(socket);
    request.once("close", () => this.#finished(socket));
  }

  #owes(socket: Socket): string | undefined {
    const name = nameOf(socket);
    if (name === undefined) return undefined;
    this.#unfinished.set(name, socket);
    const [oldest] = this.#unfinished;
    if (oldest !== undefined && this.#unfinished.size > this.#limits.maxUnfinished) {
      this.#unfinished.delete(oldest[0]);
      oldest[1].destroy();
    }
    return name;
  }

  #finished(socket: Socket): void {
    const name = nameOf(socket);
    if (name !== undefined) this.#unfinished.delete(name);
  }

  /** A stream may have nothing to say for days; what it has said must be taken. */
  #stalled(socket: Socket): void {
    const isAnswering = [...this.#responses].some((response) => response.socket === socket);
    if (socket.writableLength > 0 || !isAnswering) socket.destroy();
  }

  /**
   * Says what is wrong where it is the answer to the request that is under way; where another answer has begun, or the
   * fault is of what follows, there is nothing to be said. Nor to a connection that was opened in advance and never used.
   */
  #failed(error: Error, socket: Duplex): void {
    const answering = [...this.#responses].find((response) => response.socket === socket);
    const isUnused = "bytesRead" in socket && socket.bytesRead === 0;
    const isTooLate = answering !== undefined && (answering.headersSent || answering.req.complete);
    if (isUnused || isTooLate || !socket.writable || isHandshakeFailure(error)) socket.destroy();
    else refuse(socket, unreadable(error));
  }

  #closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** What tells a connection from all others: with TLS there are two sockets of it. `undefined` on a unix socket. */
function nameOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}

function refused(place: Place, cause: NodeJS.ErrnoException): ServiceError {
  return new ServiceError("start_failed", refusal(place, cause), { cause });
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
