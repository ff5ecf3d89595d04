// An HTTPS client that keeps cookies like a browser, optionally has a client certificate, and follows redirects.
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { connect } from "node:tls";
import { WebSocket } from "ws";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { headOf } from "./answer-head.ts";
import { type Answer, answerOf, bodyOf } from "./http.ts";
import { PATIENCE_MS } from "./patience.ts";

const MAX_REDIRECTS = 20;

export type TlsClientOptions = {
  /** The authority that it trusts, in PEM form. */
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** An IPv4 address of this machine to connect from. */
  readonly localAddress?: string;
};

export type Visit = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};

export type Page = Answer & { readonly url: string };

/** A browser's headers for a followed link. */
export const NAVIGATION = {
  accept: "text/html,application/xhtml+xml",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
} as const;

export class TlsClient {
  #cookies: readonly Cookie[] = [];
  readonly #options: TlsClientOptions;

  constructor(options: TlsClientOptions) {
    this.#options = options;
  }

  /** One request on a connection of its own. */
  async ask(url: string, { method = "GET", headers = {}, body }: Visit = {}): Promise<Page> {
    const answer = async (): Promise<Page> => {
      const response = await this.open(url, { method, headers, ...(body === undefined ? {} : { body }) });
      return { url, ...answerOf(response, await bodyOf(response)) };
    };
    return await withDeadline(answer(), PATIENCE_MS, `${method} ${url}`);
  }

  /** The head of the answer; the body is still unread. */
  async open(url: string, { method = "GET", headers = {}, body }: Visit = {}): Promise<IncomingMessage> {
    const make = url.startsWith("https:") ? httpsRequest : httpRequest;
    const length = body === undefined ? {} : { "content-length": `${Buffer.byteLength(body)}` };
    const outgoing = make(url, {
      ...{ ...this.#options, method, agent: false },
      ...(this.#options.localAddress === undefined ? {} : { family: 4 }),
      headers: { ...this.#cookieHeader(url), ...length, ...headers },
    });
    outgoing.end(body);
    const response = await withDeadline(headOf(outgoing), PATIENCE_MS, `${method} ${url}`);
    this.#keepCookies(url, response.headers["set-cookie"] ?? []);
    return response;
  }

  /** Visits an address like a browser, following redirects. */
  async visit(url: string, visit: Visit = {}): Promise<Page> {
    let page = await this.ask(url, { ...visit, headers: { ...NAVIGATION, ...visit.headers } });
    for (let count = 0; page.status >= 301 && page.status <= 308; count++) {
      if (count > MAX_REDIRECTS) throw new Error(`led in circles: ${page.url}`);
      const to = new URL(String(page.headers.location), page.url).href;
      page = await this.ask(to, { headers: NAVIGATION });
    }
    return page;
  }

  /** An open WebSocket; `url` is the server's. Rejects with the status if it is refused. */
  async webSocket(
    url: string,
    headers: Readonly<Record<string, string>> = {},
    path = "/ws",
  ): Promise<WebSocket> {
    const address = new URL(path, url.replace(/^http/, "ws"));
    const socket = new WebSocket(address, {
      ...{ ...this.#options, perMessageDeflate: false },
      headers: { ...this.#cookieHeader(url), ...headers },
    });
    const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
    socket.once("open", () => resolve(socket));
    socket.once("error", reject);
    socket.once("unexpected-response", (_, response) => reject(new Error(`status ${response.statusCode}`)));
    return await withDeadline(promise, PATIENCE_MS, "the WebSocket's opening");
  }

  /** A connection that the test controls entirely. */
  async raw(url: string): Promise<TLSSocket> {
    const { hostname, port } = new URL(url);
    const socket = connect({ ...this.#options, host: hostname, port: Number(port), servername: "localhost" });
    await withDeadline(once(socket, "secureConnect"), PATIENCE_MS, "the handshake");
    return socket;
  }

  /** The cookies that it sends there, by name. */
  cookies(url: string): ReadonlyMap<string, string> {
    const { hostname, pathname } = new URL(url);
    const sent = this.#cookies.filter(({ host, path }) => host === hostname && pathname.startsWith(path));
    return new Map(sent.map(({ name, value }) => [name, value]));
  }

  /** Another client with the same cookies. */
  copy(): TlsClient {
    const copy = new TlsClient(this.#options);
    copy.#cookies = this.#cookies;
    return copy;
  }

  /** Forgets the cookies of that host. */
  forget(url: string): void {
    const { hostname } = new URL(url);
    this.#cookies = this.#cookies.filter(({ host }) => host !== hostname);
  }

  #cookieHeader(url: string): Readonly<Record<string, string>> {
    const cookies = [...this.cookies(url)].map(([name, value]) => `${name}=${value}`);
    return cookies.length === 0 ? {} : { cookie: cookies.join("; ") };
  }

  #keepCookies(url: string, lines: readonly string[]): void {
    const { hostname: host } = new URL(url);
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf("="));
      const path = attributes.find((each) => /^path=/i.test(each))?.slice("path=".length) ?? "/";
      const isSame = (kept: Cookie): boolean =>
        kept.host === host && kept.name === name && kept.path === path;
      const others = this.#cookies.filter((kept) => !isSame(kept));
      const isGone = attributes.some(
        (each) => /^max-age=0$/i.test(each) || /^expires=thu, 01 jan 1970/i.test(each),
      );
      const value = pair.slice(name.length + 1);
      this.#cookies = isGone ? others : [...others, { host, name, path, value }];
    }
  }
}

/** By host name, without the port, like browsers. */
type Cookie = { readonly host: string; readonly name: string; readonly path: string; readonly value: string };
