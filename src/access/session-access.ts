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

/** The system user that runs a user's programs. */
type AccountOf = (user: string) => string | undefined;

type SessionAccessOptions = {
  /** Callers with access to all sessions use it itself. */
  readonly backend: SessionBackend;
  readonly accountOf: AccountOf;
  readonly rightsNow: RightsNow;
};

export class SessionAccess {
  readonly #options: SessionAccessOptions;

  constructor(options: SessionAccessOptions) {
    this.#options = options;
  }

  readonly sessionsOf = (principal: Principal): SessionBackend => this.of(principal).sessions;

  /** The request with the session's owner. ServiceError `forbidden` for an id that could reveal others' sessions. */
  readonly ownRequest = (request: CreateSession, principal: Principal): CreateSession => {
    const { backend, accountOf } = this.#options;
    if (this.sessionsOf(principal) !== backend) refuseGuessable(request.id);
    return ownedRequest(request, principal, accountOf);
  };

  of(principal: Pick<Principal, "rights" | "owner" | "tokenId">): SessionView {
    const { rights, owner } = principal;
    const { backend, rightsNow } = this.#options;
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
  }
}

/** Events without session are for every user. An event without owner is hidden. */
function isOf(event: ServerEvent, owner: string | undefined): boolean {
  if (event.sessionId === undefined) return event.owner === undefined || event.owner === owner;
  return event.owner !== undefined && event.owner === owner;
}

/**
 * The request with the session's owner and account. A server that asks for one of its users (an HQ, or a server to
 * its session host) states them itself. `accountOf`: the account of a user here.
 */
export function ownedRequest(
  request: CreateSession,
  { method, owner, account }: Pick<Principal, "method" | "owner" | "account">,
  accountOf: AccountOf,
): CreateSession {
  const { owner: named } = request;
  if (method === "socket") return request;
  if (method === "hq" && owner === undefined && named !== undefined)
    return { ...request, account: accountOf(named) };
  return { ...request, owner, account };
}

/** A conflict would reveal that another user's session has that id, unless the id cannot be guessed. */
function refuseGuessable(id: string | undefined): void {
  if (id === undefined || RandomUuid.safeParse(id).success) return;
  throw new ServiceError(
    "forbidden",
    "an id of your own choice is a random UUID (version 4 or 7): use one, or leave the id out",
  );
}
