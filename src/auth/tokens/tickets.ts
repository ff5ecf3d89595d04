import { createHash, randomBytes } from "node:crypto";
import type { z } from "zod";
import type { TicketKind, TicketStore } from "../../lib/data/live-records.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  ENROLMENT_CODE_LIFETIME_S,
  LOGIN_LINK_LIFETIME_MS,
  MAX_ENROLMENT_CODES,
  MAX_LOGIN_LINKS,
  MAX_SECOND_FACTORS,
  MAX_TOKEN_LENGTH,
  MAX_WS_TICKETS,
  SECOND_FACTOR_LIFETIME_MS,
  WS_TICKET_LIFETIME_MS,
} from "../../protocol/limits.ts";

/** For `/ws` and event streams, where a browser cannot send a header (contract 5.5). */
export const WS_TICKETS: TicketKind = {
  ...{ name: "ws", lifetimeMs: WS_TICKET_LIFETIME_MS, maxEntries: MAX_WS_TICKETS },
};
/** For a login that a password alone was not enough for, and for a passkey that is being made. */
export const SECOND_FACTORS: TicketKind = {
  ...{ name: "second-factor", lifetimeMs: SECOND_FACTOR_LIFETIME_MS, maxEntries: MAX_SECOND_FACTORS },
};
/** With which a user makes a passkey at the login; the holder is that user. */
export const ENROLMENT_CODES: TicketKind = {
  ...{ name: "enrolment", lifetimeMs: ENROLMENT_CODE_LIFETIME_S * 1000, maxEntries: MAX_ENROLMENT_CODES },
};
/** For the one-time login link that a server prints when it starts. */
export const LOGIN_LINKS: TicketKind = {
  ...{ name: "login-link", lifetimeMs: LOGIN_LINK_LIFETIME_MS, maxEntries: MAX_LOGIN_LINKS },
};

/**
 * Secrets that work once and not for long, each standing for a holder. Only hashes are kept, so a look-up tells nothing
 * about how near a guess came.
 */
export class Tickets<Holder> {
  readonly #kind: TicketKind;
  readonly #holder: z.ZodType<Holder>;
  readonly #store: TicketStore;

  constructor(kind: TicketKind, holder: z.ZodType<Holder>, store: TicketStore) {
    this.#kind = kind;
    this.#holder = holder;
    this.#store = store;
  }

  /** A new ticket: 43 letters of base64url, 256 random bits. */
  async issue(holder: Holder): Promise<string> {
    const ticket = randomBytes(32).toString("base64url");
    await this.#store.put(this.#kind, hash(ticket), JSON.stringify(holder));
    return ticket;
  }

  /** The holder, once. Unknown, used or too old: ServiceError `unauthorized`. */
  async redeem(ticket: string): Promise<Holder> {
    const text =
      ticket.length > MAX_TOKEN_LENGTH ? undefined : await this.#store.take(this.#kind, hash(ticket));
    if (text === undefined) throw new ServiceError("unauthorized", "ticket was used or is too old");
    return this.#holder.parse(JSON.parse(text));
  }
}

function hash(ticket: string): string {
  return createHash("sha256").update(ticket).digest("base64url");
}
