import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ServiceError } from "../protocol/errors.ts";
import { refuse, unreadable } from "./refuse.ts";
import { createHttpsServer, isHandshakeFailure, type TlsIdentity } from "./tls.ts";
import type { Upgrade } from "./upgrade.ts";

/** A client that has not sent its whole request by then is slow on purpose or gone. */
const REQUEST_TIMEOUT_MS = 30_000;
/**
 * An idle connection that is closed just when its client sends on it fails a request for nothing: longer than proxies
 * in front keep theirs. Those on a private socket are closed by their clients alone (0).
 */
const KEEP_ALIVE_MS = 75_000;

/** Connections that wait to be accepted: after its restart all remotes of an HQ come at once. The system may allow less. */
const BACKLOG = 4_096;

/** What requests that are being answered, and clients that are told to go, are given when the listener stops. */
const STOP_TIMEOUT_MS = 1_000;

/** Where one listens: an address, or the path of a unix socket. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string };

/**
 * A listening HTTP or HTTPS server. Disposing it takes no new connections, tells WebSockets to go, breaks streams off, waits a
 * moment for the answers that are under way, and then closes every connection.
 */
export class Listener implements AsyncDisposable {
  readonly #server: Server;
  readonly #upgrade: Upgrade;
  readonly #sockets = new Set<Socket>();
  readonly #responses = new Set<ServerResponse>();

  private constructor(server: Server, upgrade: Upgrade) {
    this.#server = server;
    this.#upgrade = upgrade;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (_, response) => {
      this.#responses.add(response);
      response.once("close", () => this.#responses.delete(response));
    });
    server.on("clientError", (error, socket) => {
      const isAnswering = [...this.#responses].some((response) => response.socket === socket);
      if (isAnswering || !socket.writable || isHandshakeFailure(error)) socket.destroy();
      else refuse(socket, unreadable(error));
    });
    server.on("upgrade", (request, socket, head) => upgrade.handle(request, socket, head));
  }

  /** With `tls` it speaks HTTPS. Rejects with `start_failed` when that place or that certificate is not to be had. */
  static async open(
    place: Place,
    handlers: { request: RequestListener; upgrade: Upgrade },
    tls?: TlsIdentity,
  ): Promise<Listener> {
    const keepAliveTimeout = "path" in place ? 0 : KEEP_ALIVE_MS;
    const options = { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout, noDelay: true };
    const server = tls === undefined ? createServer(options) : createHttpsServer(tls, options);
    server.on("request", handlers.request);
    const listener = new Listener(server, handlers.upgrade);
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

  #closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function refused(place: Place, cause: NodeJS.ErrnoException): ServiceError {
  return new ServiceError("start_failed", refusal(place, cause), { cause });
}

function refusal(place: Place, { code, message }: NodeJS.ErrnoException): string {
  if ("path" in place) return `cannot listen on ${place.path}: ${message}`;
  const { host, port } = place;
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is taken: stop what listens there, or give another one with --port`;
    case "EACCES":
      return `this user may not listen on port ${port}: give one from 1024 on with --port`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is no address of this machine: give one of its own with --bind`;
    default:
      return `cannot listen on port ${port} of ${host}: ${message}`;
  }
}
