// The pages at /.proxy/: logging in and out at the provider. They are not forwarded.
import type { IncomingMessage, ServerResponse } from "node:http";
import { formatOrigin, isOriginOf, parseHost, parseOrigin } from "../lib/net/origin.ts";
import type { Seal } from "../lib/seal.ts";
import type { Log } from "../log.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  MAX_PENDING_PROXY_LOGINS,
  PROXY_LOGIN_LIFETIME_MS,
  PROXY_LOGIN_TIMEOUT_MS,
} from "../protocol/limits.ts";
import { cookie, cookiesOf, LOGIN_COOKIE, PENDING_COOKIE } from "./cookies.ts";
import type { Client } from "./forwarder.ts";
import { redirect, sendPage } from "./plain-page.ts";
import { type PendingLogin, PendingLogins } from "./provider/pending-login.ts";
import { type Provider, reasonOf } from "./provider/provider.ts";
import type { ProviderLogins } from "./provider/provider-logins.ts";

type OwnPagesParts = {
  readonly provider: Provider;
  readonly logins: ProviderLogins;
  /** As of the logins. */
  readonly seal: Seal;
  readonly origin: string;
  readonly clientOf: (request: IncomingMessage) => Client;
  readonly mayLogIn: (user: string) => boolean;
  /** Limits, counts and logs a login, see Login.admit. */
  readonly admit: <Proven extends { readonly user: string }>(
    address: string | undefined,
    prove: () => Promise<Proven>,
    reasonOf: (error: unknown) => object,
  ) => Promise<Proven>;
  readonly audit: { write(entry: LoginEntry): void };
  readonly log: Pick<Log, "info">;
};

type LoginEntry = {
  readonly action: "login" | "logout";
  readonly result: "ok" | "refused" | "failed";
  readonly user: string | undefined;
  readonly method: "oidc";
  readonly address: string | undefined;
};

export class OwnPages {
  readonly #parts: OwnPagesParts;
  readonly #pending: PendingLogins;

  constructor(parts: OwnPagesParts) {
    this.#parts = parts;
    this.#pending = new PendingLogins(parts.seal, () => Date.now());
  }

  /** Rejects with a ServiceError for the caller to answer. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.#parts.origin);
    switch (`${request.method} ${url.pathname}`) {
      case "GET /.proxy/login":
        return await this.begin(request, response, url.searchParams.get("return") ?? undefined);
      case "GET /.proxy/callback":
        return await this.#finish(request, response, url);
      case "GET /.proxy/logout":
        return await this.#askToLogOut(request, response);
      case "POST /.proxy/logout":
        return await this.#logOut(request, response);
      case "GET /.proxy/logged-out":
        return sendPage(response, LOGGED_OUT);
      default:
        throw new ServiceError("not_found", `there is nothing at ${request.method} ${url.pathname}`);
    }
  }

  /** Redirects a browser to the provider, and afterwards back to `path`. */
  async begin(request: IncomingMessage, response: ServerResponse, path: string | undefined): Promise<void> {
    const { origin, provider, clientOf } = this.#parts;
    const host = parseHost(clientOf(request).host ?? "");
    // Cookies of another host name would not be sent to the origin to which the provider redirects.
    if (host === undefined || formatOrigin({ scheme: "https", host }) !== origin) {
      const action = { kind: "link", to: origin, text: `Go to ${origin}` } as const;
      return sendPage(response, { ...OTHER_NAME, action });
    }
    const login = this.#pending.begin(returnPath(path));
    const url = await provider.loginUrl(login);
    const pendingCookie = cookie(cookieOf(login.state), this.#pending.seal(login), PROXY_LOGIN_TIMEOUT_MS);
    response.setHeader("set-cookie", [...this.#oldestPending(request), pendingCookie]);
    redirect(response, url.href);
  }

  async #finish(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const state = url.searchParams.get("state") ?? "";
    const pending = this.#pending.open(cookiesOf(request.headers.cookie).get(cookieOf(state)) ?? "");
    if (pending === undefined || pending.state !== state) {
      const message = "this login was started in another browser, or too long ago: log in again";
      throw new ServiceError("login_refused", message);
    }
    // Valid once, whatever the result.
    const doneWith = cookie(cookieOf(state), "", 0);
    response.setHeader("set-cookie", doneWith);
    const login = await this.#logIn(request, url.search, pending);
    response.setHeader("set-cookie", [doneWith, cookie(LOGIN_COOKIE, login, PROXY_LOGIN_LIFETIME_MS)]);
    redirect(response, pending.returnTo);
  }

  /** The cookie of the new login. Throws as `admit` and the provider; `login_refused` if the options do not admit the user. */
  async #logIn(request: IncomingMessage, search: string, pending: PendingLogin): Promise<string> {
    const { provider, logins, clientOf, mayLogIn, admit, audit } = this.#parts;
    const { address } = clientOf(request);
    const entry = { action: "login", method: "oidc", address } as const;
    let user: string | undefined;
    const prove = async () => {
      const answer = await provider.finish(search, pending);
      user = answer.user.login;
      if (!mayLogIn(user)) throw new ServiceError("login_refused", `the user ${user} may not log in here`);
      // A new cookie, in case somebody else planted the previous one.
      await logins.end(loginCookieOf(request));
      return { user, cookie: await logins.begin(answer) };
    };
    try {
      const proven = await admit(address, prove, reasonOf);
      audit.write({ ...entry, result: "ok", user: proven.user });
      return proven.cookie;
    } catch (error) {
      const isRefused = error instanceof ServiceError && error.status < 500;
      audit.write({ ...entry, result: isRefused ? "refused" : "failed", user });
      throw error;
    }
  }

  async #askToLogOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const login = await this.#loginOf(request);
    if (login === undefined) {
      sendPage(response, NOT_LOGGED_IN);
      return;
    }
    const { login: user, name = user } = login.user;
    const text = `You are logged in as ${name === user ? user : `${name} (${user})`}.`;
    const action = { kind: "button", to: "/.proxy/logout", text: "Log out" } as const;
    sendPage(response, { status: 200, title: "Log out?", text, action, leadsTo: PROVIDERS });
  }

  async #logOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { provider, logins, clientOf, audit, log } = this.#parts;
    refuseForeignPages(request, clientOf(request));
    const login = await this.#loginOf(request);
    response.setHeader("set-cookie", cookie(LOGIN_COOKIE, "", 0));
    if (login === undefined) return redirect(response, "/.proxy/logged-out");
    const { login: user } = login.user;
    const { address } = clientOf(request);
    const entry = { action: "logout", user, method: "oidc", address } as const;
    try {
      await logins.end(loginCookieOf(request));
    } catch (error) {
      audit.write({ ...entry, result: "failed" });
      throw error;
    }
    log.info({ user, method: "oidc", address }, "logged out");
    audit.write({ ...entry, result: "ok" });
    // The logout here does not depend on the provider.
    const url = await provider.logoutUrl(login.idToken).catch(() => undefined);
    redirect(response, url?.href ?? "/.proxy/logged-out");
  }

  #loginOf(request: IncomingMessage): ReturnType<ProviderLogins["find"]> {
    return this.#parts.logins.find(loginCookieOf(request));
  }

  /** Deletes the oldest cookies of started logins beyond the limit, because all are sent with every request. */
  #oldestPending(request: IncomingMessage): readonly string[] {
    const pending = [...cookiesOf(request.headers.cookie)]
      .filter(([name]) => name.startsWith(PENDING_COOKIE))
      .map(([name, sealed]) => ({ name, beganAtMs: this.#pending.open(sealed)?.beganAtMs ?? 0 }))
      .sort((one, other) => other.beganAtMs - one.beganAtMs);
    return pending.slice(MAX_PENDING_PROXY_LOGINS - 1).map(({ name }) => cookie(name, "", 0));
  }
}

function loginCookieOf({ headers }: IncomingMessage): string | undefined {
  return cookiesOf(headers.cookie).get(LOGIN_COOKIE);
}

/** From one of our pages, or not from a browser: a foreign page may not log anybody out. */
function refuseForeignPages({ headers }: IncomingMessage, { host }: Client): void {
  const { origin: sent, "sec-fetch-site": site = "none" } = headers;
  const [origin, server] = [parseOrigin(sent ?? ""), parseHost(host ?? "")];
  const isOwn = origin?.scheme === "https" && server !== undefined && isOriginOf(origin, server);
  const isSame = site === "same-origin" || (site === "none" && sent === undefined);
  if (!isOwn && !isSame)
    throw new ServiceError("origin_not_allowed", "only a page of this server logs you out");
}

/** Two windows can log in at once: each login has its own cookie. */
function cookieOf(state: string): string {
  return `${PENDING_COOKIE}${state.slice(0, 8)}`;
}

/** A logout may redirect to these; http only on this machine. */
const PROVIDERS = ["https:", "http://localhost:*", "http://127.0.0.1:*"];
const AGAIN = { kind: "link", to: "/", text: "Log in" } as const;
const LOGGED_OUT = { status: 200, title: "Logged out", text: "You are logged out here.", action: AGAIN };
const NOT_LOGGED_IN = { ...LOGGED_OUT, text: "You are not logged in at a login provider." };
const OTHER_NAME = {
  status: 421,
  title: "Another name",
  text: "This server has another name: log in under that name.",
};

const MAX_LENGTH = 512;
/** One slash; two would start a host. No characters that browsers treat as slashes or drop. */
const LOCAL_PATH = /^\/(?![/\\])[!-~]*$/;

/** The path and query after a login, on this host; "/" for anything else. Never throws. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > MAX_LENGTH || text.includes("\\") || !LOCAL_PATH.test(text))
    return "/";
  // Browsers normalise dots: /.//host would become //host.
  const url = URL.parse(text, "https://here.invalid");
  if (url === null || url.host !== "here.invalid" || url.pathname.startsWith("//")) return "/";
  // Not back to the login or logout.
  return url.pathname === "/.proxy" || url.pathname.startsWith("/.proxy/")
    ? "/"
    : `${url.pathname}${url.search}`;
}
