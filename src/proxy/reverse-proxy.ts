// The identity-aware reverse proxy of --enable-proxy-serve: nobody reaches the server behind it without having proved who
// they are (contract 5.9).
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
  /** Where people log in at a provider; `undefined`: client certificates alone. */
  readonly login: { readonly pages: OwnPages; readonly logins: ProviderLogins } | undefined;
  /** With what the server behind knows its own proxy. */
  readonly proof: Secret;
  readonly clientOf: (request: IncomingMessage) => Client;
  readonly answers: Answers;
  readonly log: Pick<Log, "error">;
};

/** Who it is, and for how long. */
type Proven = { readonly user: ProxyUser; readonly whenOver: (over: () => void) => Disposable };

const OWN_PATH = /^\/\.proxy(?:[/?]|$)/;
/** The longest that a timer can wait. A connection that lasts longer is closed, and comes back. */
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

  /** From now on requests go to this port of 127.0.0.1; before, they are answered with `server_unreachable`. */
  forwardTo(port: number): void {
    this.#forwarder.port = port;
  }

  /** For node:http. */
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
    /** The server behind closes what is open. */
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
    // Who left meanwhile is told of by no `close` any more.
    if (response.destroyed) return;
    if (proven !== undefined) {
      // A stream may go on for days; it ends with the login that opened it.
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
    // As above.
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
    const login = this.#parts.login?.logins.find(cookiesOf(request.headers.cookie).get(LOGIN_COOKIE));
    await login?.use().catch(() => undefined);
    if (login === undefined || login.isOver) return undefined;
    return { user: login.user, whenOver: (over) => login.whenOver(over) };
  }

  #vouch(request: IncomingMessage, user: ProxyUser): Voucher {
    const { address, host = "" } = this.#parts.clientOf(request);
    return { user, address, host, proof: this.#proof };
  }

  #unproven(): ServiceError {
    const how =
      this.#parts.login === undefined
        ? "the client certificate names nobody, or has expired"
        : "log in first: open this server in a browser, or show a client certificate";
    return new ServiceError("unauthorized", how);
  }

  /** In words to a person, in JSON to a program. */
  #refuse(response: ServerResponse, error: unknown): void {
    this.#logUnexpected(error);
    if (!response.headersSent && isNavigation(response.req)) sendRefusal(response, error);
    else this.#parts.answers.error(response, error);
  }

  #logUnexpected(error: unknown): void {
    if (!(error instanceof ServiceError)) this.#parts.log.error({ error }, "request to the proxy failed");
  }
}

/** A WebSocket handshake is a GET without a body. */
function refuseOddUpgrade({ method, headers }: IncomingMessage): void {
  const isWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  if (!isWebSocket || hasBody)
    throw new ServiceError("invalid_request", "no protocol but websocket is spoken here");
}

function atTime(atMs: number, act: () => void): Disposable {
  const timer = setTimeout(act, Math.min(Math.max(0, atMs - Date.now()), MAX_TIMER_MS)).unref();
  const watch = new DisposableStack();
  watch.defer(() => clearTimeout(timer));
  return watch;
}
