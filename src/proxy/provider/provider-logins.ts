import { hash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { type LiveRecord, putOrEnd, type UpdatableRecords } from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  MAX_PROXY_LOGINS,
  MAX_PROXY_LOGINS_OF_USER,
  PROVIDER_TIMEOUT_MS,
  PROXY_LOGIN_LIFETIME_MS,
} from "../../protocol/limits.ts";
import { ProviderAnswer } from "./provider-answer.ts";
import { ProviderLogin, type ProviderLoginParts } from "./provider-login.ts";

const COOKIE_BYTES = 32;
const MAX_COOKIE_LENGTH = 128;
const SEALED_AS = "provider login";
const KIND = "provider-login";
/** A renewal has several requests, each with a deadline of its own. */
const TURN_MS = 3 * PROVIDER_TIMEOUT_MS;
/** Between two looks at a login that another HQ renews. */
const TURN_CHECK_MS = 200;

/** `renewals`: number of answers before this one. Times in milliseconds since 1970. */
const Kept = z.object({
  answer: ProviderAnswer,
  renewals: z.number(),
  answeredAtMs: z.number(),
  /** While an HQ asks the provider; others wait for its answer. */
  turnEndsAtMs: z.number().optional(),
});
type Kept = z.infer<typeof Kept>;

type ProviderLoginsParts = Pick<ProviderLoginParts, "renew" | "now" | "random"> & {
  readonly records: UpdatableRecords;
  /** As of the records: HQs that share them have the same. */
  readonly seal: Seal;
  /** Milliseconds since 1970. */
  readonly date: () => number;
};

/**
 * Logins at the provider by cookie, which the records know by a hash. HQs that share the records share the logins: one at a
 * time renews a login, since a provider may take a refresh token once. Over MAX_PROXY_LOGINS, or MAX_PROXY_LOGINS_OF_USER of
 * a user, the oldest ends.
 */
export class ProviderLogins implements Disposable {
  /** Those of the records that were used here, by record. */
  readonly #logins = new Map<string, ProviderLogin>();
  readonly #parts: ProviderLoginsParts;
  readonly #watching: Disposable;

  constructor(parts: ProviderLoginsParts) {
    this.#parts = parts;
    this.#watching = parts.records.watch((id) => this.#close(id));
  }

  /** Returns the cookie's value. ServiceError `registry_unavailable`. */
  async begin(answer: ProviderAnswer): Promise<string> {
    const { records, seal, date } = this.#parts;
    await this.#makeRoom(answer.user.login);
    const cookie = seal.seal(SEALED_AS, randomBytes(COOKIE_BYTES).toString("base64url"));
    const expiresAtS = Math.ceil((date() + PROXY_LOGIN_LIFETIME_MS) / 1000);
    const value: Kept = { answer, renewals: 0, answeredAtMs: date() };
    await putOrEnd(records, { id: idOf(cookie), kind: KIND, expiresAtS, value });
    return cookie;
  }

  /** ServiceError `registry_unavailable` if the login is unknown here, and may be known to another HQ. */
  async find(cookie = ""): Promise<ProviderLogin | undefined> {
    const { records, seal } = this.#parts;
    const id = idOf(cookie);
    const known = this.#logins.get(id);
    if (known !== undefined) return known;
    // The records are not asked for what strangers make up.
    if (cookie.length > MAX_COOKIE_LENGTH || seal.open(SEALED_AS, cookie) === undefined) return undefined;
    const record = await records.find(id);
    if (record?.kind !== KIND) return undefined;
    return this.#logins.get(id) ?? this.#open(record);
  }

  /** Ends the login everywhere. ServiceError `registry_unavailable`: it has ended here, and the others hear of it later. */
  async end(cookie = ""): Promise<void> {
    const record = this.#parts.records.get(idOf(cookie));
    if (record !== undefined) await this.#parts.records.end([record]);
  }

  get size(): number {
    return this.#parts.records.list(KIND).length;
  }

  /** Closes what is open; the records stay. */
  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
    for (const id of [...this.#logins.keys()]) this.#close(id);
  }

  #open(record: LiveRecord): ProviderLogin {
    const { now, random, date, records } = this.#parts;
    const { id } = record;
    const kept = keptIn(record);
    let { renewals } = kept;
    const renew = async (last: ProviderAnswer): Promise<ProviderAnswer> => {
      const latest = await this.#renewed(id, { ...kept, answer: last, renewals });
      renewals = latest.renewals;
      return this.#remaining(latest);
    };
    const lifetimeMs = Math.max(0, record.expiresAtS * 1000 - date());
    const answer = this.#remaining(kept);
    const login = new ProviderLogin({ answer, renew, now, random, lifetimeMs }, () => {
      this.#logins.delete(id);
      // If that fails, it has ended here, and the store hears of it later.
      void records.end([record]).catch(() => undefined);
    });
    this.#logins.set(id, login);
    return login;
  }

  #close(id: string): void {
    const login = this.#logins.get(id);
    this.#logins.delete(id);
    login?.[Symbol.dispose]();
  }

  /** As long as the answer is valid from now on. */
  #remaining({ answer, answeredAtMs }: Kept): ProviderAnswer {
    return { ...answer, validForMs: answer.validForMs - Math.max(0, this.#parts.date() - answeredAtMs) };
  }

  /** The provider's next answer, or the one that another HQ has got since `known`. */
  async #renewed(id: string, known: Kept): Promise<Kept> {
    const { renew, date } = this.#parts;
    for (;;) {
      const latest = await this.#takeTurn(id, known);
      if (latest !== undefined && latest.renewals > known.renewals) return latest;
      const isTaken = latest?.turnEndsAtMs !== undefined;
      if (isTaken) await pause(TURN_CHECK_MS, undefined, { ref: false });
      else break;
    }
    const answeredAtMs = date();
    try {
      const answer = await renew(known.answer);
      const kept = { answer, renewals: known.renewals + 1, answeredAtMs };
      await this.#keep(id, kept);
      return kept;
    } catch (error) {
      await this.#keep(id, known);
      throw error;
    }
  }

  /**
   * Returns the login as it is if another HQ has renewed it or does; otherwise it is this HQ's turn. While the records are
   * out of reach each HQ asks the provider itself.
   */
  async #takeTurn(id: string, known: Kept): Promise<Kept | undefined> {
    const { date } = this.#parts;
    let latest: Kept | undefined;
    await this.#change(id, (kept) => {
      const isOthers = kept.renewals > known.renewals || (kept.turnEndsAtMs ?? 0) > date();
      latest = isOthers ? kept : undefined;
      return isOthers ? kept : { ...kept, turnEndsAtMs: date() + TURN_MS };
    });
    return latest;
  }

  /** Gives the turn back. */
  async #keep(id: string, kept: Kept): Promise<void> {
    const mine = { ...kept, turnEndsAtMs: undefined };
    await this.#change(id, (latest) => (latest.renewals > kept.renewals ? latest : mine));
  }

  /** While the records are out of reach a change is known here only. ServiceError `login_refused` if the login has ended. */
  async #change(id: string, change: (latest: Kept) => Kept): Promise<void> {
    const update = async (record: LiveRecord | undefined): Promise<LiveRecord> => {
      if (record === undefined) throw new ServiceError("login_refused", "the login has ended");
      const latest = keptIn(record);
      const changed = change(latest);
      return changed === latest ? record : { ...record, value: changed };
    };
    await this.#parts.records.update(id, update).catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.code !== "registry_unavailable") throw error;
    });
  }

  async #makeRoom(user: string): Promise<void> {
    const { records } = this.#parts;
    const all = records.list(KIND).toSorted((one, other) => one.expiresAtS - other.expiresAtS);
    const ofUser = all.filter((record) => keptIn(record).answer.user.login === user);
    const oldest = [
      ...(ofUser.length >= MAX_PROXY_LOGINS_OF_USER ? ofUser.slice(0, 1) : []),
      ...(all.length >= MAX_PROXY_LOGINS ? all.slice(0, 1) : []),
    ];
    await records.end(oldest);
  }
}

function keptIn({ value }: Pick<LiveRecord, "value">): Kept {
  return Kept.parse(value);
}

function idOf(cookie: string): string {
  return hash("sha256", cookie, "base64url");
}
