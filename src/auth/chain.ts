// Who sends a request: the ways to prove it, asked in turn.
import { z } from "zod";
import { isLoopbackAddress, isLoopbackName } from "../lib/net/address.ts";
import { parseHost } from "../lib/net/origin.ts";
import { isLoginName, shownProfile } from "../lib/profile.ts";
import { type Secret, sameBytes } from "../lib/secret.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_TOKEN_LENGTH } from "../protocol/limits.ts";
import type { Principal, Proof } from "./principal.ts";
import { ALL, OWN } from "./roles.ts";
import type { AccessTokens } from "./tokens/access-token.ts";
import type { Tickets } from "./tokens/tickets.ts";
import type { Users } from "./users.ts";

/** The parts of a request that say who sent it. */
export type RequestClaims = {
  readonly authorization: string | undefined;
  /** The query parameter `token`. */
  readonly queryToken: string | undefined;
  /** The client's address, as a trusted proxy reports it; `undefined` on a unix socket. */
  readonly address: string | undefined;
  /** The address at the other end of the connection. */
  readonly peer: string | undefined;
  /** The Host header. */
  readonly host: string | undefined;
  /** Whether a header shows that a proxy forwarded the request. */
  readonly isForwarded: boolean;
  /** The header `X-Ttyhq-Local`. */
  readonly localToken: string | undefined;
  /** The headers `proxy-user-*` (specification 5.4), not trusted yet; `undefined` without any of them. */
  readonly identity: ClaimedIdentity | undefined;
  /** The proof that these headers come from our own reverse proxy. */
  readonly identityProof: string | undefined;
  /** The header `Ttyhq-On-Behalf-Of`: the user for whom an HQ sends the request. */
  readonly onBehalfOf: string | undefined;
  /** The header `Ttyhq-Caller`: the user for whom a server sends a request to its session host. */
  readonly caller: string | undefined;
  /** The query parameter counts only for `/ws` and event streams (contract 5.5); remotes join an HQ at "registry". */
  readonly place: "api" | "websocket" | "event-stream" | "registry";
};

export type ClaimedIdentity = {
  readonly login: string | undefined;
  readonly name: string | undefined;
  readonly picture: string | undefined;
  /** Only from our own reverse proxy. */
  readonly groups?: string | undefined;
};

/** One way to prove who sends a request. `undefined`: no such proof. ServiceError `unauthorized`: a wrong one. */
export type Way<Proven extends Proof = Proof> = (request: RequestClaims) => Promise<Proven | undefined>;

/** Calls `over` once, with the reason, when the login ends; disposing cancels that. */
export type LoginWatch = (principal: Principal, over: (reason: string) => void) => Disposable;

/** For logins that never end. */
export const neverOver: LoginWatch = () => new DisposableStack();

/** The first way with a proof decides. Without any: ServiceError `unauthorized`. */
export function chain<Proven extends Proof>(
  ways: readonly Way<Proven>[],
): (request: RequestClaims) => Promise<Proven> {
  return async (request) => {
    for (const way of ways) {
      const proof = await way(request);
      if (proof !== undefined) return proof;
    }
    throw new ServiceError("unauthorized", "log in first");
  };
}

/** Every request comes from `user`: `--no-auth`, and the private unix socket. */
export function everyoneIs(user: string, method: "none" | "socket"): Way<Principal> {
  return async () => ({ user, method, rights: ALL });
}

/** The registry of an HQ without credentials is open to everyone: `--no-hq-auth`. */
export function openRegistry(serverUser: string): Way {
  return async ({ place }) =>
    place === "registry" ? { user: serverUser, method: "none", rights: ALL } : undefined;
}

/** `Authorization: Bearer` with an access token. */
export function byBearer(tokens: Pick<AccessTokens, "verify">): Way {
  return async ({ authorization }) => {
    const token = bearerToken(authorization);
    return token === undefined ? undefined : await tokens.verify(token);
  };
}

/**
 * The query parameter `token`: an access token or a single-use ticket. A ticket of a user of our own proxy proves nothing:
 * the proxy names that user in each request, and closes what a login opened when it ends.
 */
export function byQueryToken(
  tokens: Pick<AccessTokens, "verify" | "isCurrent">,
  tickets: Pick<Tickets<Principal>, "redeem">,
  identity?: TrustedIdentity,
): Way {
  return async ({ queryToken, place }) => {
    const counts = place === "websocket" || place === "event-stream";
    if (!counts || queryToken === undefined) return undefined;
    // A JWT has two dots, a ticket none.
    if (queryToken.includes(".")) return await tokens.verify(queryToken);
    const holder = await tickets.redeem(queryToken);
    if (holder.method === "proxy" && identity === "own-proxy") return undefined;
    if (!(await tokens.isCurrent(holder))) throw new ServiceError("unauthorized", "log in again");
    return { ...holder, method: "ticket" };
  };
}

/**
 * On a remote: the bearer token that it gave its HQ at this start (specification 5.5). The HQ acts for the server's user, or
 * for the HQ's user that it names, who never is the server's own user, whatever the name.
 */
export function byMachineToken(
  token: Secret,
  { serverUser, users }: { readonly serverUser: string; readonly users: Pick<Users, "accountOf"> },
): Way {
  const isToken = sameBytes(token.bytes());
  return async ({ authorization, onBehalfOf }) => {
    const proof = proofOf("bearer", authorization);
    if (proof === undefined || !isToken(proof)) return undefined;
    if (onBehalfOf === undefined) return { user: serverUser, method: "hq", rights: ALL };
    const account = users.accountOf(onBehalfOf);
    return { user: onBehalfOf, method: "hq", owner: onBehalfOf, account, rights: OWN };
  };
}

/**
 * `--allow-local-bypass`: a request from a loopback address, under a loopback name, without a sign of a proxy and without
 * `proxy-user-*` headers, comes from the server's own user (contract 5.10). `token`: the header `X-Ttyhq-Local` must have it.
 */
export function byLocalBypass(serverUser: string, token: Secret | undefined): Way {
  const isToken = token && sameBytes(token.bytes());
  return async ({ peer, host, isForwarded, identity, localToken }) => {
    const name = parseHost(host ?? "")?.name;
    const isFromHere = peer !== undefined && isLoopbackAddress(peer);
    if (!isFromHere || name === undefined || !isLoopbackName(name)) return undefined;
    if (isForwarded || identity !== undefined) return undefined;
    if (isToken !== undefined && !isToken(localToken ?? "")) return undefined;
    return { user: serverUser, method: "local" };
  };
}

/** Whose headers `proxy-user-*` count. */
type TrustedIdentity = "own-proxy" | "local-proxy";

/**
 * The headers `proxy-user-*` (specification 5.4), from loopback addresses only (contract 5.9). Our own proxy adds a proof,
 * new at each start, so that other users of this machine cannot pass for it. "local-proxy": all headers from this machine
 * are trusted.
 */
export function byProxyIdentity(trusted: TrustedIdentity, proof: Secret): Way {
  const isProof = trusted === "own-proxy" ? sameBytes(proof.bytes()) : () => true;
  return async ({ peer, identity, identityProof = "" }) => {
    const { login, groups } = identity ?? {};
    if (peer === undefined || !isLoopbackAddress(peer)) return undefined;
    if (login === undefined || !isLoginName(login) || !isProof(identityProof)) return undefined;
    // Another proxy may pass on what a client sent, and groups give roles. The encoding is that of proxy/forwarded-headers.ts.
    const isTrusted = trusted === "own-proxy" && groups !== undefined && groups !== "";
    return {
      ...{ user: login, method: "proxy", profile: shownProfile(identity ?? {}) },
      groups: isTrusted ? groups.split(",").map(decodeURIComponent) : [],
    };
  };
}

const Caller = z.object({
  user: z.string(),
  owner: z.string().optional(),
  account: z.string().optional(),
  seesAll: z.boolean(),
});

/** On a session host, whose socket only its own user can open: the server names its user in the header `Ttyhq-Caller`. */
export const bySocketCaller: Way<Principal> = async ({ caller }) => {
  if (caller === undefined) return undefined;
  try {
    const { seesAll, ...known } = Caller.parse(JSON.parse(decodeURIComponent(caller)));
    return { ...known, method: "socket", rights: seesAll ? ALL : OWN };
  } catch (cause) {
    throw new ServiceError("unauthorized", "the header ttyhq-caller is malformed", { cause });
  }
};

/**
 * Checks the user of each proof against the current options: a token may be older than they are. The proof gets the rights
 * that its user has now, and is refused if the user may not log in any more.
 * A proof with rights of its own (a share link, a remote's credential) has those. `groupsOf`: for proofs without groups.
 */
export function admission(
  users: Pick<Users, "mayLogIn" | "standing">,
  groupsOf: (user: string) => Promise<readonly string[]> = async () => [],
): (proof: Proof, request: Pick<RequestClaims, "place">) => Promise<Principal> {
  return async (proof, { place }) => {
    const { rights, user } = proof;
    if (rights?.kind === "remote" && place !== "registry") {
      throw new ServiceError("forbidden", "this credential registers one remote and does nothing else");
    }
    if (rights !== undefined) return { ...proof, rights };
    if (!users.mayLogIn(user, proof.method === "proxy" ? "proxy" : "login")) {
      throw new ServiceError("unauthorized", "this user may not log in here");
    }
    const { groups = await groupsOf(user), scope, ...known } = proof;
    const standing = users.standing(user, groups);
    return { ...known, ...standing, rights: { ...standing.rights, ...(scope && { scope }) } };
  };
}

const SCHEME = /^([A-Za-z][A-Za-z0-9-]{0,31})(?: +|$)/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The rest of an `Authorization` header after its scheme; `undefined` for another scheme, which may be a proxy's own login. */
export function proofOf(scheme: "bearer" | "basic", header: string | undefined): string | undefined {
  const [start, found] = SCHEME.exec(header ?? "") ?? [];
  if (header === undefined || start === undefined || found?.toLowerCase() !== scheme) return undefined;
  return header.slice(start.length);
}

/** `undefined` without `Authorization: Bearer`; ServiceError `unauthorized` if no token of ours can be in it. */
export function bearerToken(header: string | undefined): string | undefined {
  const token = proofOf("bearer", header);
  if (token !== undefined && (token.length > MAX_TOKEN_LENGTH || !TOKEN.test(token))) throw malformed();
  return token;
}

export function malformed(): ServiceError {
  return new ServiceError("unauthorized", "malformed Authorization header");
}
