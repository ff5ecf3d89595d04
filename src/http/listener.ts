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
import { refuse, unreadable } from "./limits/refuse.ts";
import { Shortage } from "./limits/shortage.ts";
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

/** What clients that are told to go are given when the listener stops; without a longer grace answers, too. */
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

type Handlers = {
  readonly request: RequestListener;
  readonly upgrade: Upgrade;
  /** The process runs out of file descriptors, and later has some again. */
  readonly onShortage?: (isShort: boolean) => void;
};

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
 * `maxUnfinished` owe the rest of a request, and there are at most `maxConnections`. Disposing it is a stop with a short
 * grace.
 */
export class Listener implements AsyncDisposable {
  readonly #server: Server;
  readonly #upgrade: Upgrade;
  readonly #limits: Limits;
  readonly #sockets = new Set<Socket>();
  /** Those that owe the rest of a request, the oldest first. */
  readonly #unfinished = new Map<string, Socket>();
  readonly #responses = new Set<ServerResponse>();
  #refused = 0;
  #stopping: Promise<{ readonly broken: number }> | undefined;
  #isLast = false;

  readonly #shortage: Shortage;

  private constructor(server: Server, { request, upgrade, onShortage = () => {} }: Handlers, limits: Limits) {
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
      this.#heard(incoming);
      this.#responses.add(response);
      response.once("close", () => this.#responses.delete(response));
      if (this.#isLast) response.shouldKeepAlive = false;
      request(incoming, response);
    });
    // Whatever a client expects beside 100-continue, it gets its answer.
    server.on("checkExpectation", (incoming, response) => server.emit("request", incoming, response));
    server.on("clientError", (error, socket) => this.#failed(error, socket));
    server.on("upgrade", (incoming, socket, head) => {
      // node:http has taken its own listener off: without one, a client that is gone would end the process.
      socket.on("error", () => {});
      this.#finished(incoming.socket);
      if (!this.#isRefused(incoming)) upgrade.handle(incoming, socket, head);
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
    // Of connections that could not be taken: each is another's, and the next may be.
    server.on("error", () => {});
    return listener;
  }

  /** Those of this moment, those over which no more are taken, and how many were not taken since the start. */
  get connections(): { readonly open: number; readonly limit: number; readonly refused: number } {
    return { open: this.#sockets.size, limit: this.#limits.maxConnections, refused: this.#refused };
  }

  /** Of a listener on an address: the port, which the system chose when it was asked for port 0. */
  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Every answer from now on is the last one on its connection: the next request may find another server. */
  endKeepAlive(): void {
    this.#isLast = true;
  }

  /**
   * Takes no new connections, tells WebSockets to go and breaks streams off that have no end. Answers that are under way,
   * downloads among them, have `graceMs`; everything else has a moment. Then every connection is closed. Resolves with how
   * many answers were broken off; a later call waits for the first.
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
      if (isEndless(response)) response.destroy();
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

  /** Answered already, for want of file descriptors. */
  #isRefused({ socket }: IncomingMessage): boolean {
    return this.#shortage.answers(socket, nameOf(socket) ?? socket);
  }

  #opened(socket: Socket): void {
    const isPlain = !(this.#server instanceof TlsServer);
    if (this.#shortage.meets(socket, nameOf(socket) ?? socket, isPlain)) this.#refused += 1;
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

  #closeAllBut(responses: ReadonlySet<ServerResponse>): void {
    const answering = new Set([...responses].map(({ socket }) => socket && (nameOf(socket) ?? socket)));
    for (const socket of this.#sockets) if (!answering.has(nameOf(socket) ?? socket)) socket.destroy();
  }
}

/** A body that goes on has no end that could be waited for; one that was handed over leaves by itself. */
function isEndless(response: ServerResponse): boolean {
  return response.headersSent && !response.writableEnded && !response.hasHeader("content-length");
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
