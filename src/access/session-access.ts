// What of the sessions somebody may see and touch (contract 5.7): one backend for everybody, as each of them has it.
import type { Principal } from "../auth/principal.ts";
import { frameRefusals } from "../auth/roles.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import type { CreateSession } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { GuardedSessions } from "./guarded-sessions.ts";
import { guestEvent } from "./guest-sight.ts";

/** The sessions of one principal, and which events concern them. */
export type SessionView = {
  readonly sessions: SessionBackend;
  /** The event as this principal is told of it; `undefined`: it is not. */
  readonly shown: (event: ServerEvent) => ServerEvent | undefined;
  /** Output before this offset is not for them. */
  readonly historyFrom?: number | undefined;
  /** Nothing of the repository that a session is in is for them. */
  readonly isRepositoryHidden?: boolean;
  /** The types of frames that they may not send, each with the reason. */
  readonly refusals: ReadonlyMap<number, string>;
};

const everything = (event: ServerEvent): ServerEvent => event;

export class SessionAccess {
  readonly #backend: SessionBackend;

  /** Whoever may everything gets `backend` itself. */
  constructor(backend: SessionBackend) {
    this.#backend = backend;
  }

  of({ rights, owner }: Pick<Principal, "rights" | "owner">): SessionView {
    if (rights.kind === "remote") {
      throw new ServiceError("forbidden", "a remote has no business with sessions");
    }
    const refusals = frameRefusals(rights);
    if (rights.kind === "all") return { sessions: this.#backend, shown: everything, refusals };
    const sessions = new GuardedSessions({
      backend: this.#backend,
      holder: rights.kind === "own" ? { kind: "owner", owner } : rights,
    });
    if (rights.kind === "own")
      return { sessions, refusals, shown: (event) => (isOf(event, owner) ? event : undefined) };
    const { from: historyFrom } = rights;
    return {
      sessions,
      refusals,
      historyFrom,
      isRepositoryHidden: true,
      shown: (event) => guestEvent(event, rights),
    };
  }
}

/** What concerns no session concerns every user; of an event without an owner nobody knows whose it is. */
function isOf(event: ServerEvent, owner: string | undefined): boolean {
  if (event.sessionId === undefined) return event.owner === undefined || event.owner === owner;
  return event.owner !== undefined && event.owner === owner;
}

/**
 * The request with whose session it will be and as whom it will run. A server that asks for one of its own users (an
 * HQ, or the server to its session host) says so itself; `accountOf`: as whom a user's programs run here.
 */
export function ownedRequest(
  request: CreateSession,
  { method, owner, account }: Pick<Principal, "method" | "owner" | "account">,
  accountOf: (user: string) => string | undefined,
): CreateSession {
  const { owner: named, account: asked, ...rest } = request;
  if (method === "socket") return request;
  if (method === "hq" && owner === undefined && named !== undefined) {
    return { ...rest, owner: named, ...part("account", accountOf(named)) };
  }
  return { ...rest, ...part("owner", owner), ...part("account", account) };
}

function part<Name extends string>(name: Name, value: string | undefined): { readonly [N in Name]?: string } {
  const members: { [N in Name]?: string } = {};
  if (value !== undefined) members[name] = value;
  return members;
}
