// A third party's reverse proxy that identifies the caller (specification 5.4).
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createProxyServer } from "http-proxy-3";

export class IdentityProxy implements AsyncDisposable {
  readonly #server: Server;
  /** The user that it names; undefined: nobody. */
  login: string | undefined;
  /** Further data about that user. */
  more: Readonly<Record<string, string>> = {};

  private constructor(target: string) {
    const proxy = createProxyServer({ target, ws: true });
    // A closing browser resets its connections, and the library throws events without listeners.
    proxy.on("error", () => undefined);
    const headers = (): Record<string, string> =>
      this.login === undefined ? {} : { "proxy-user-login": this.login, ...this.more };
    this.#server = createServer((request, response) =>
      proxy.web(request, response, { headers: headers() }, () => response.destroy()),
    );
    this.#server.on("upgrade", (request, socket, head) =>
      proxy.ws(request, socket, head, { headers: headers() }, () => socket.destroy()),
    );
  }

  /** In front of the server at that address. */
  static async start(target: string): Promise<IdentityProxy> {
    const proxy = new IdentityProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return `http://127.0.0.1:${address.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
