// Access control for sessions (contract 5.7): one backend, as each caller may use it.
import type { Principal } from "../auth/principal.ts";
import type { InvitedRights, Rights } from "../auth/roles.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import { type CreateSession, RandomUuid } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { guardedSessions } from "./guarded-sessions.ts";
import { guestEvent } from "./guest-sight.ts";

export type SessionView = {
  readonly sessions: SessionBackend;
  /** The event as the caller sees it; `undefined`: hidden. */
  readonly shown: (event: ServerEvent) => ServerEvent | undefined;
  /** Output before this offset is hidden. */
  readonly historyFrom?: number | undefined;
  readonly isRepositoryHidden?: boolean;
};

/** The rights now: those of a guest may have changed since the login. */
export type RightsNow = (principal: Pick<Principal, "rights" | "tokenId">) => Rights;

type AccountOf = (user: string) => string | undefined;

/** Callers with access to all sessions use `backend` itself. `accountOf`: the system user that runs a user's programs. */
export function sessionAccess(backend: SessionBackend, rightsNow: RightsNow, accountOf: AccountOf) {
  const viewOf = (principal: Pick<Principal, "rights" | "owner" | "tokenId">): SessionView => {
    const { rights, owner } = principal;
    if (rights.kind === "remote") {
      throw new ServiceError("forbidden", "a remote has no business with sessions");
    }
    if (rights.kind === "all") return { sessions: backend, shown: (event) => event };
    if (rights.kind === "own") {
      const sessions = guardedSessions(backend, { kind: "owner", owner });
      return { sessions, shown: (event) => (isOf(event, owner) ? event : undefined) };
    }
    const now = (): InvitedRights => {
      const current = rightsNow(principal);
      return current.kind === "invited" ? current : rights;
    };
    return {
      sessions: guardedSessions(backend, { ...rights, now }),
      historyFrom: rights.from,
      isRepositoryHidden: true,
      shown: (event) => guestEvent(event, now()),
    };
  };
  return {
    viewOf,
    sessionsOf: (principal: Principal): SessionBackend => viewOf(principal).sessions,
    ownRequest: (request: CreateSession, principal: Principal): CreateSession =>
      ownedRequest(request, principal, accountOf),
  };
}

/** Events without session are for every user. An event without owner is hidden. */
function isOf(event: ServerEvent, owner: string | undefined): boolean {
  if (event.sessionId === undefined) return event.owner === undefined || event.owner === owner;
  return event.owner !== undefined && event.owner === owner;
}

/**
 * The request with the session's owner and account. A server that asks for one of its users (an HQ, or a server to
 * its session host) states them itself. ServiceError `forbidden` for an id that could reveal others' sessions.
 */
export function ownedRequest(
  request: CreateSession,
  { rights, method, owner, account }: Pick<Principal, "rights" | "method" | "owner" | "account">,
  accountOf: AccountOf,
): CreateSession {
  const { id, owner: named } = request;
  // A conflict would reveal that another user's session has that id, unless the id cannot be guessed.
  if (rights.kind !== "all" && id !== undefined && !RandomUuid.safeParse(id).success) {
    const message =
      "an id of your own choice is a random UUID (version 4 or 7): use one, or leave the id out";
    throw new ServiceError("forbidden", message);
  }
  if (method === "socket") return request;
  if (method === "hq" && owner === undefined && named !== undefined)
    return { ...request, account: accountOf(named) };
  return { ...request, owner, account };
}
