// The identity-aware reverse proxy of --enable-proxy-serve: only authenticated requests reach the server.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import { certifiedUser } from "./client-certificate.ts";
import { cookiesOf, LOGIN_COOKIE } from "./cookies.ts";
import { forwardedHeaders, refuseUnforwardable, type Voucher } from "./forwarded-headers.ts";
import type { Answers, Client } from "./forwarder.ts";
import { Forwarder } from "./forwarder.ts";
import type { OwnPages } from "./own-pages.ts";
import { isNavigation, sendRefusal } from "./plain-page.ts";
import type { ProviderLogins } from "./provider/provider-logins.ts";
import type { ProxyUser } from "./proxy-user.ts";

export type ReverseProxyParts = {
  /** Login at a provider; `undefined`: client certificates only. */
  readonly login: { readonly pages: OwnPages; readonly logins: ProviderLogins } | undefined;
  readonly proof: Secret;
  readonly clientOf: (request: IncomingMessage) => Client;
  readonly answers: Answers;
  readonly log: Pick<Log, "error">;
};

type Proven = { readonly user: ProxyUser; readonly whenOver: (over: () => void) => Disposable };

const OWN_PATH = /^\/\.proxy(?:[/?]|$)/;
/** The longest timer. Longer connections are closed, and reconnect. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class ReverseProxy implements Disposable {
  readonly #parts: ReverseProxyParts;
  readonly #proof: string;
  readonly #forwarder: Forwarder;
  #isClosed = false;

  constructor(parts: ReverseProxyParts) {
    this.#parts = parts;
    this.#proof = new TextDecoder().decode(parts.proof.bytes());
    const error = (response: ServerResponse, cause: unknown): void => this.#refuse(response, cause);
    this.#forwarder = new Forwarder({ ...parts.answers, error });
  }

  /** Forwards to this port of 127.0.0.1; before that requests get `server_unreachable`. */
  forwardTo(port: number): void {
    this.#forwarder.port = port;
  }

  readonly request = (request: IncomingMessage, response: ServerResponse): void => {
    this.#answer(request, response).catch((error: unknown) => this.#refuse(response, error));
  };

  readonly upgrade = {
    handle: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      this.#connect(request, socket, head).catch((error: unknown) => {
        this.#logUnexpected(error);
        this.#parts.answers.refuse(socket, error);
      });
    },
    /** The server closes open WebSockets. */
    close: (): void => {
      this.#isClosed = true;
    },
  };

  [Symbol.dispose](): void {
    this.#parts.login?.logins[Symbol.dispose]();
    this.#forwarder[Symbol.dispose]();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    refuseUnforwardable(request);
    const pages = this.#parts.login?.pages;
    const { url = "" } = request;
    if (OWN_PATH.test(url)) {
      if (pages === undefined) throw new ServiceError("not_found", "there is no login provider here");
      return await pages.answer(request, response);
    }
    const proven = await this.#prove(request);
    // `close` has already been emitted.
    if (response.destroyed) return;
    if (proven !== undefined) {
      // A stream may last for days; it ends with its login.
      const watch = proven.whenOver(() => response.destroy());
      response.once("close", () => watch[Symbol.dispose]());
      const headers = forwardedHeaders(request, this.#vouch(request, proven.user), "request");
      return this.#forwarder.request(request, response, headers);
    }
    if (pages === undefined || !isNavigation(request)) throw this.#unproven();
    await pages.begin(request, response, url);
  }

  async #connect(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    refuseUnforwardable(request);
    refuseOddUpgrade(request);
    if (this.#isClosed) throw new ServiceError("shutting_down", "the server is shutting down");
    const proven = await this.#prove(request);
    if (socket.destroyed) return;
    if (proven === undefined) throw this.#unproven();
    const headers = forwardedHeaders(request, this.#vouch(request, proven.user), "upgrade");
    const watch = proven.whenOver(() => socket.destroy());
    socket.once("close", () => watch[Symbol.dispose]());
    this.#forwarder.socket(request, socket, head, headers);
  }

  async #prove(request: IncomingMessage): Promise<Proven | undefined> {
    const certified = certifiedUser(request.socket, Date.now());
    if (certified !== undefined) {
      const { user, expiresAtMs } = certified;
      return { user, whenOver: (over) => atTime(expiresAtMs, over) };
    }
    const login = await this.#parts.login?.logins.find(cookiesOf(request.headers.cookie).get(LOGIN_COOKIE));
    await login?.use().catch(() => undefined);
    if (login === undefined || login.isOver) return undefined;
    return { user: login.user, whenOver: (over) => login.whenOver(over) };
  }

  #vouch(request: IncomingMessage, user: ProxyUser): Voucher {
    const { address, host = "" } = this.#parts.clientOf(request);
    return { user, address, host, proof: this.#proof };
  }

  #unproven(): ServiceError {
    const { login } = this.#parts;
    const noCertificate = "the client certificate names nobody, or has expired";
    const noLogin = "log in first: open this server in a browser, or show a client certificate";
    return new ServiceError("unauthorized", login === undefined ? noCertificate : noLogin);
  }

  /** A page for a person, JSON for a program. */
  #refuse(response: ServerResponse, error: unknown): void {
    this.#logUnexpected(error);
    if (!response.headersSent && isNavigation(response.req)) sendRefusal(response, error);
    else this.#parts.answers.error(response, error);
  }

  #logUnexpected(error: unknown): void {
    if (!(error instanceof ServiceError)) this.#parts.log.error({ error }, "request to the proxy failed");
  }
}

function refuseOddUpgrade({ method, headers }: IncomingMessage): void {
  const isWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  if (!isWebSocket || hasBody)
    throw new ServiceError("invalid_request", "the only protocol to upgrade to is websocket");
}

function atTime(atMs: number, act: () => void): Disposable {
  const timer = setTimeout(act, Math.min(Math.max(0, atMs - Date.now()), MAX_TIMER_MS)).unref();
  const watch = new DisposableStack();
  watch.defer(() => clearTimeout(timer));
  return watch;
}
