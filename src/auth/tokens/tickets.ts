import { hash, randomBytes } from "node:crypto";
import type { z } from "zod";
import type { TicketKind, TicketStore } from "../../lib/data/live-records.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  ENROLMENT_CODE_LIFETIME_S,
  LOGIN_LINK_LIFETIME_MS,
  MAX_ENROLMENT_CODES,
  MAX_LOGIN_LINKS,
  MAX_SECOND_FACTORS,
  MAX_SSH_CHALLENGES,
  MAX_TOKEN_LENGTH,
  MAX_WS_TICKETS,
  SECOND_FACTOR_LIFETIME_MS,
  SSH_CHALLENGE_LIFETIME_MS,
  WS_TICKET_LIFETIME_MS,
} from "../../protocol/limits.ts";

/** For `/ws` and event streams, where a browser cannot send a header (contract 5.5). */
export const WS_TICKETS = kind("ws", WS_TICKET_LIFETIME_MS, MAX_WS_TICKETS);
/** For logins that need a second factor, and for creating passkeys. */
export const SECOND_FACTORS = kind("second-factor", SECOND_FACTOR_LIFETIME_MS, MAX_SECOND_FACTORS);
/** For logins with an SSH key. */
export const SSH_CHALLENGES = kind("ssh-challenge", SSH_CHALLENGE_LIFETIME_MS, MAX_SSH_CHALLENGES);
/** For creating a passkey during a login; the holder is the user. */
export const ENROLMENT_CODES = kind("enrolment", ENROLMENT_CODE_LIFETIME_S * 1000, MAX_ENROLMENT_CODES);
/** For the login link that a server prints at startup. */
export const LOGIN_LINKS = kind("login-link", LOGIN_LINK_LIFETIME_MS, MAX_LOGIN_LINKS);

function kind(name: string, lifetimeMs: number, maxEntries: number): TicketKind {
  return { name, lifetimeMs, maxEntries };
}

/** Short-lived single-use secrets, each for a holder. Only hashes are stored, so a lookup's time reveals nothing. */
export class Tickets<Holder> {
  readonly #kind: TicketKind;
  readonly #holder: z.ZodType<Holder>;
  readonly #store: TicketStore;

  constructor(kind: TicketKind, holder: z.ZodType<Holder>, store: TicketStore) {
    this.#kind = kind;
    this.#holder = holder;
    this.#store = store;
  }

  /** By default 256 random bits in base64url. */
  async issue(holder: Holder, ticket = randomBytes(32).toString("base64url")): Promise<string> {
    await this.#store.put(this.#kind, hash("sha256", ticket, "base64url"), JSON.stringify(holder));
    return ticket;
  }

  /** Undefined if it is unknown, used or expired. */
  async take(ticket: string): Promise<Holder | undefined> {
    if (ticket.length > MAX_TOKEN_LENGTH) return undefined;
    const text = await this.#store.take(this.#kind, hash("sha256", ticket, "base64url"));
    return text === undefined ? undefined : this.#holder.parse(JSON.parse(text));
  }

  /** As `take`; ServiceError `unauthorized` if there is none. */
  async redeem(ticket: string): Promise<Holder> {
    const holder = await this.take(ticket);
    if (holder === undefined) throw new ServiceError("unauthorized", "ticket was used or is too old");
    return holder;
  }
}
