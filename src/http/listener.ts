import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Upgrade } from "./upgrade.ts";

/** A client that has not sent its whole request by then is slow on purpose or gone. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Where one listens: an address, or the path of a unix socket. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string };

/** A listening HTTP server. Disposing it closes every connection. */
export class Listener implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** Rejects with the system's error, such as EADDRINUSE. */
  static async open(
    place: Place,
    handlers: { request: RequestListener; upgrade: Upgrade },
  ): Promise<Listener> {
    const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, noDelay: true }, handlers.request);
    server.on("upgrade", handlers.upgrade);
    const listener = new Listener(server);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(place, resolve);
    await promise;
    server.off("error", reject);
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
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }
}
