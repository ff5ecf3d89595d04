import { ServiceError } from "../protocol/errors.ts";
import type { Principal, Proof } from "./principal.ts";
import { ALL, scoped } from "./roles.ts";
import type { AccessTokens } from "./tokens/access-token.ts";
import { bearerToken } from "./tokens/authorization.ts";
import type { Tickets } from "./tokens/tickets.ts";
import type { Users } from "./users.ts";

/** What of a request says who it comes from. */
export type RequestClaims = {
  readonly authorization: string | undefined;
  /** The query parameter `token`. */
  readonly queryToken: string | undefined;
  /** The client's address, undefined on a unix socket; what a trusted proxy says it is. */
  readonly address: string | undefined;
  /** The address at the other end of the connection. */
  readonly peer: string | undefined;
  /** The Host header. */
  readonly host: string | undefined;
  /** Whether a header tells of a proxy on the way. */
  readonly isForwarded: boolean;
  /** The header `X-Ttyhq-Local`. */
  readonly localToken: string | undefined;
  /** The headers `proxy-user-*`, as they came (specification 5.4); `undefined` where there is none of them. */
  readonly identity: ClaimedIdentity | undefined;
  /** With what our own reverse proxy proves that these are its own. */
  readonly identityProof: string | undefined;
  /** The header `Ttyhq-On-Behalf-Of`: for which of its users an HQ asks. */
  readonly onBehalfOf: string | undefined;
  /** The header `Ttyhq-Caller`: for which of its users a server asks its session host. */
  readonly caller: string | undefined;
  /**
   * Where the request goes: the query parameter counts on `/ws` and event streams alone (contract 5.5); "registry" is
   * where machines join an HQ.
   */
  readonly place: "api" | "websocket" | "event-stream" | "registry";
};

/** What headers say, whoever sent them. Without a login they name nobody. */
export type ClaimedIdentity = {
  readonly login: string | undefined;
  readonly name: string | undefined;
  readonly picture: string | undefined;
  /** What our own reverse proxy says of groups; undefined where there is no such header. */
  readonly groups?: string | undefined;
};

/**
 * One way of telling who asks. `undefined`: this way says nothing, ask the next. ServiceError `unauthorized`: there
 * is such a proof, and it is wrong.
 */
export type Authenticator = (request: RequestClaims) => Promise<Principal | undefined>;

/** The same before it is known what that user may do. */
export type Prover = (request: RequestClaims) => Promise<Proof | undefined>;

/** Calls `over` once, with the reason, when that login is over; disposing stops that. */
export type LoginWatch = (principal: Principal, over: (reason: string) => void) => Disposable;

/** For logins that are never over. */
export const neverOver: LoginWatch = () => new DisposableStack();

/** Asks one way after the other; the first that knows decides. Nobody knows: ServiceError `unauthorized`. */
export function chain(ways: readonly Authenticator[]): (request: RequestClaims) => Promise<Principal> {
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
  return async () => ({ user, method, rights: ALL });
}

/** The registry of an HQ without credentials is open to everyone: `--no-hq-auth`. */
export function openRegistry(serverUser: string): Authenticator {
  return async ({ place }) =>
    place === "registry" ? { user: serverUser, method: "none", rights: ALL } : undefined;
}

/** `Authorization: Bearer` with an access token. */
export function byBearer(tokens: Pick<AccessTokens, "verify">): Prover {
  return async ({ authorization }) => {
    const token = bearerToken(authorization);
    return token === undefined ? undefined : await tokens.verify(token);
  };
}

/** Query parameter `token`, where it counts: an access token or a single-use ticket. */
export function byQueryToken(
  tokens: Pick<AccessTokens, "verify" | "isCurrent">,
  tickets: Pick<Tickets<Principal>, "redeem">,
): Prover {
  return async ({ queryToken, place }) => {
    const counts = place === "websocket" || place === "event-stream";
    if (!counts || queryToken === undefined) return undefined;
    // A ticket has no dots, a JWT always has two.
    if (queryToken.includes(".")) return await tokens.verify(queryToken);
    const holder = await tickets.redeem(queryToken);
    if (!(await tokens.isCurrent(holder))) throw new ServiceError("unauthorized", "log in again");
    return { ...holder, method: "ticket" };
  };
}

/**
 * Lets a way name only users who may log in now, with what they may do now: a proof outlives the options that it was
 * given under. `groupsOf`: where the proof does not say of which groups the user is a member. One that says itself what
 * it opens (a share link, the credential of a remote) opens that.
 */
export function onlyFor(
  users: Users,
  way: Prover,
  groupsOf: (user: string) => Promise<readonly string[]> = async () => [],
): Authenticator {
  return async (request) => {
    const proof = await way(request);
    if (proof === undefined) return undefined;
    const { rights } = proof;
    if (rights?.kind === "remote" && request.place !== "registry") {
      throw new ServiceError("forbidden", "this credential registers one remote and does nothing else");
    }
    if (rights !== undefined) return { ...proof, rights };
    if (!users.mayLogIn(proof.user)) {
      throw new ServiceError("unauthorized", "this user may not log in here");
    }
    const { groups = await groupsOf(proof.user), scope, ...known } = proof;
    const standing = users.standing(proof.user, groups);
    if (scope === undefined) return { ...known, ...standing };
    return { ...known, ...standing, rights: scoped(standing.rights, scope) };
  };
}
