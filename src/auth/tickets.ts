import { createHash, randomBytes } from "node:crypto";
import { ExpiringMap } from "../lib/expiring-map.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  LOGIN_LINK_LIFETIME_MS,
  MAX_LOGIN_LINKS,
  MAX_SECOND_FACTORS,
  MAX_TOKEN_LENGTH,
  MAX_WS_TICKETS,
  SECOND_FACTOR_LIFETIME_MS,
  WS_TICKET_LIFETIME_MS,
} from "../protocol/limits.ts";

type TicketKind = { readonly lifetimeMs: number; readonly maxEntries: number };

/** For `/ws` and event streams, where a browser cannot send a header (contract 5.5). */
export const WS_TICKETS: TicketKind = { lifetimeMs: WS_TICKET_LIFETIME_MS, maxEntries: MAX_WS_TICKETS };
/** For a login that a password alone was not enough for, and for a passkey that is being made. */
export const SECOND_FACTORS: TicketKind = {
  lifetimeMs: SECOND_FACTOR_LIFETIME_MS,
  maxEntries: MAX_SECOND_FACTORS,
};
/** For the one-time login link that a server prints when it starts. */
export const LOGIN_LINKS: TicketKind = { lifetimeMs: LOGIN_LINK_LIFETIME_MS, maxEntries: MAX_LOGIN_LINKS };

/**
 * Secrets that work once and not for long, each standing for a holder. Bounded by the kind's `maxEntries`: over
 * that the oldest is forgotten. Only hashes are kept, so a look-up tells nothing about how near a guess came.
 */
export class Tickets<Holder> {
  readonly #holders: ExpiringMap<string, Holder>;

  /** `now` in milliseconds, never going back. */
  constructor(kind: TicketKind, now: () => number) {
    this.#holders = new ExpiringMap({ ...kind, now });
  }

  /** A new ticket: 43 letters of base64url, 256 random bits. */
  issue(holder: Holder): string {
    const ticket = randomBytes(32).toString("base64url");
    this.#holders.set(hash(ticket), holder);
    return ticket;
  }

  /** The holder, once. Unknown, used or too old: ServiceError `unauthorized`. */
  redeem(ticket: string): Holder {
    const holder = ticket.length > MAX_TOKEN_LENGTH ? undefined : this.#holders.take(hash(ticket));
    if (holder === undefined) throw new ServiceError("unauthorized", "ticket was used or is too old");
    return holder;
  }
}

function hash(ticket: string): string {
  return createHash("sha256").update(ticket).digest("base64url");
}
