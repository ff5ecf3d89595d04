import { hash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type LiveRecord, putOrEnd, type UpdatableRecords } from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  MAX_PROXY_LOGINS,
  MAX_PROXY_LOGINS_OF_USER,
  PROVIDER_TIMEOUT_MS,
  PROXY_LOGIN_LIFETIME_MS,
} from "../../protocol/limits.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import { KeptLogin, ProviderLogin } from "./provider-login.ts";

const COOKIE_BYTES = 32;
const MAX_COOKIE_LENGTH = 128;
const SEALED_AS = "provider login";
const KIND = "provider-login";
/** A renewal has several requests, each with a deadline of its own. */
const TURN_MS = 3 * PROVIDER_TIMEOUT_MS;
/** Between two looks at a login that another HQ renews. */
const TURN_CHECK_MS = 200;

type ProviderLoginsParts = {
  readonly records: UpdatableRecords;
  /** As of the records: HQs that share them have the same. */
  readonly seal: Seal;
  /** See Provider.renew. */
  readonly renew: (last: ProviderAnswer) => Promise<ProviderAnswer>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
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
    const { records, seal, now } = this.#parts;
    const oldest = this.#beyondBounds(answer.user.login);
    const cookie = seal.seal(SEALED_AS, randomBytes(COOKIE_BYTES).toString("base64url"));
    const expiresAtS = Math.ceil((now() + PROXY_LOGIN_LIFETIME_MS) / 1000);
    const value: KeptLogin = { answer, renewals: 0, answeredAtMs: now() };
    const record = { id: idOf(cookie), kind: KIND, expiresAtS, value };
    await Promise.all([records.end(oldest), putOrEnd(records, record)]);
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

  /** Closes what is open; the records stay. */
  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
    for (const id of [...this.#logins.keys()]) this.#close(id);
  }

  #open(record: LiveRecord): ProviderLogin {
    const { now, random, records } = this.#parts;
    const { id, expiresAtS } = record;
    const renew = (last: KeptLogin): Promise<KeptLogin> => this.#renewed(id, last);
    const kept = keptIn(record);
    const login = new ProviderLogin({ kept, endsAtMs: expiresAtS * 1000, renew, now, random }, () => {
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

  /**
   * The provider's next answer, or the one that another HQ has got since `last`. While the records are out of reach each HQ
   * asks the provider itself.
   */
  async #renewed(id: string, last: KeptLogin): Promise<KeptLogin> {
    const { renew, now } = this.#parts;
    for (;;) {
      const others = await this.#takeTurn(id, last);
      if (others === undefined) break;
      if (others.renewals > last.renewals) return others;
      await pause(TURN_CHECK_MS, undefined, { ref: false });
    }
    let next: KeptLogin = { ...last, turnEndsAtMs: undefined };
    const answeredAtMs = now();
    try {
      next = { answer: await renew(last.answer), renewals: last.renewals + 1, answeredAtMs };
      return next;
    } finally {
      // Gives the turn back.
      await this.#change(id, (latest) => (latest.renewals > next.renewals ? latest : next));
    }
  }

  /** The login as it is if another HQ has renewed it or does; `undefined`: it is this HQ's turn. */
  async #takeTurn(id: string, last: KeptLogin): Promise<KeptLogin | undefined> {
    const { now } = this.#parts;
    let others: KeptLogin | undefined;
    await this.#change(id, (latest) => {
      const isOthers = latest.renewals > last.renewals || (latest.turnEndsAtMs ?? 0) > now();
      others = isOthers ? latest : undefined;
      return isOthers ? latest : { ...latest, turnEndsAtMs: now() + TURN_MS };
    });
    return others;
  }

  /** While the records are out of reach a change is known here only. ServiceError `login_refused` if the login has ended. */
  async #change(id: string, change: (latest: KeptLogin) => KeptLogin): Promise<void> {
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

  /** The oldest logins, if one more needs their place. */
  #beyondBounds(user: string): readonly LiveRecord[] {
    const all = this.#parts.records.list(KIND).toSorted((one, other) => one.expiresAtS - other.expiresAtS);
    const ofUser = all.filter((record) => keptIn(record).answer.user.login === user);
    return [
      ...ofUser.slice(0, Math.max(0, ofUser.length + 1 - MAX_PROXY_LOGINS_OF_USER)),
      ...all.slice(0, Math.max(0, all.length + 1 - MAX_PROXY_LOGINS)),
    ];
  }
}

function keptIn({ value }: Pick<LiveRecord, "value">): KeptLogin {
  return KeptLogin.parse(value);
}

function idOf(cookie: string): string {
  return hash("sha256", cookie, "base64url");
}
