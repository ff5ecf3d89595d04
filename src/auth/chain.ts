import { ServiceError } from "../protocol/errors.ts";
import type { AccessTokens } from "./access-token.ts";
import { bearerToken } from "./authorization.ts";
import type { Principal } from "./principal.ts";
import type { Tickets } from "./tickets.ts";

/** What of a request says who it comes from. */
export type RequestFacts = {
  readonly authorization: string | undefined;
  /** The query parameter `token`. */
  readonly queryToken: string | undefined;
  /** The peer's address, undefined on a unix socket. */
  readonly address: string | undefined;
  /**
   * Where the request goes: the query parameter counts on `/ws` and event streams alone (contract 5.5); "registry" is
   * where machines join an HQ.
   */
  readonly place: "api" | "websocket" | "event-stream" | "registry";
};

/**
 * One way of telling who asks. `undefined`: this way says nothing, ask the next. ServiceError `unauthorized`: there
 * is such a proof, and it is wrong.
 */
export type Authenticator = (request: RequestFacts) => Promise<Principal | undefined>;

/** Calls `over` once, with the reason, when that login is over; disposing stops that. */
export type LoginWatch = (principal: Principal, over: (reason: string) => void) => Disposable;

/** For logins that are never over. */
export const neverOver: LoginWatch = () => new DisposableStack();

/** Asks one way after the other; the first that knows decides. Nobody knows: ServiceError `unauthorized`. */
export function chain(ways: readonly Authenticator[]): (request: RequestFacts) => Promise<Principal> {
  return async (request) => {
    for (const way of ways) {
      const principal = await way(request);
      if (principal !== undefined) return principal;
    }
    throw new ServiceError("unauthorized", "log in first");
  };
}

/** Everyone is `user`, whatever the request carries: `--no-auth`, and the private unix socket. */
export function everyoneIs(user: string, method: "none" | "socket"): Authenticator {
  return async () => ({ user, method });
}

/** The registry of an HQ without credentials is open to everyone: `--no-hq-auth`. */
export function openRegistry(serverUser: string): Authenticator {
  return async ({ place }) => (place === "registry" ? { user: serverUser, method: "none" } : undefined);
}

/** `Authorization: Bearer` with an access token. */
export function byBearer(tokens: Pick<AccessTokens, "verify">): Authenticator {
  return async ({ authorization }) => {
    const token = bearerToken(authorization);
    return token === undefined ? undefined : tokens.verify(token);
  };
}

/** Query parameter `token`, where it counts: an access token or a single-use ticket. */
export function byQueryToken(
  tokens: Pick<AccessTokens, "verify" | "isCurrent">,
  tickets: Pick<Tickets<Principal>, "redeem">,
): Authenticator {
  return async ({ queryToken, place }) => {
    const counts = place === "websocket" || place === "event-stream";
    if (!counts || queryToken === undefined) return undefined;
    // A ticket has no dots, a JWT always has two.
    if (queryToken.includes(".")) return tokens.verify(queryToken);
    const holder = tickets.redeem(queryToken);
    if (!tokens.isCurrent(holder)) throw new ServiceError("unauthorized", "log in again");
    return { ...holder, method: "ticket" };
  };
}

/** Lets a way name only users who may log in now; a token outlives the options that it was issued under. */
export function onlyFor(mayLogIn: (user: string) => boolean, way: Authenticator): Authenticator {
  return async (request) => {
    const principal = await way(request);
    if (principal !== undefined && !mayLogIn(principal.user)) {
      throw new ServiceError("unauthorized", "this user may not log in here");
    }
    return principal;
  };
}
