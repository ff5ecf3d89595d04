import { createHash } from "node:crypto";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import { addressKey } from "../../lib/net/address.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  FAILED_LOGINS_PER_HOUR,
  FAILED_LOGINS_PER_MINUTE,
  LOGIN_PENALTY_MEMORY_MS,
  LOGIN_WINDOW_MS,
  MAX_COUNTED_LOGINS,
  MAX_LOGIN_PENALTY_MS,
  PROVEN_LOGIN_MS,
} from "../../protocol/limits.ts";

export type Claimant = { readonly address: string | undefined; readonly user?: string };

/**
 * Limits failed logins: 10 a minute for each address and each user, always (contract 4.2). A try counts while it
 * runs, so that parallel tries gain nothing; only `invalid_credentials` and `unauthorized` count in the end. A
 * success does not reset earlier failures. Each further time within an hour that an address reaches the limit it
 * waits longer: 1 more minute, then 3, up to MAX_LOGIN_PENALTY_MS. One address can cause at most half of a user's ten
 * failures, and 20 in an hour, so that n addresses lock a user out for at most 2n minutes of an hour. An address at
 * which the user logged in within PROVEN_LOGIN_MS has a count of its own for that user, which failures of others do
 * not affect. At most MAX_COUNTED_LOGINS addresses and users are counted; over that the oldest is dropped, which
 * takes 17 addresses or more to exploit.
 */
export class LoginAttempts {
  /** Tries refused without checking the proof. */
  refusals = 0;
  /** By address, and by address and user for proven logins. */
  readonly #places: ExpiringMap<string, Failures>;
  readonly #users: ExpiringMap<string, Failures>;
  /** By address and user, over an hour, unless the login is proven. */
  readonly #hours: ExpiringMap<string, Failures>;
  /** Address and user of successful logins. */
  readonly #proven: ExpiringMap<string, true>;
  readonly #now: () => number;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    const limits = { lifetimeMs: LOGIN_WINDOW_MS, maxEntries: MAX_COUNTED_LOGINS, now };
    this.#places = new ExpiringMap({ ...limits, lifetimeMs: LOGIN_PENALTY_MEMORY_MS });
    this.#users = new ExpiringMap(limits);
    this.#hours = new ExpiringMap({ ...limits, lifetimeMs: HOURLY.windowMs });
    this.#proven = new ExpiringMap({ ...limits, lifetimeMs: PROVEN_LOGIN_MS });
    this.#now = now;
  }

  /** Runs a login. Too many failures: ServiceError `rate_limited` with `details.retryAfterSeconds`. */
  async guard<T>(claimant: Claimant, login: () => Promise<T>): Promise<T> {
    const attempt = this.#begin(claimant);
    try {
      const result = await login();
      attempt.succeed();
      return result;
    } catch (error) {
      attempt.fail(error);
      throw error;
    }
  }

  /** The same, synchronously. */
  guardNow<T>(claimant: Claimant, login: () => T): T {
    const attempt = this.#begin(claimant);
    try {
      const result = login();
      attempt.succeed();
      return result;
    } catch (error) {
      attempt.fail(error);
      throw error;
    }
  }

  #begin({ address, user }: Claimant): Attempt {
    const key = addressKey(address);
    // Hashed, to bound the size of names.
    const userKey = user === undefined ? undefined : hash(user);
    const pair = userKey === undefined ? undefined : `${key} ${userKey}`;
    const isProven = pair !== undefined && this.#proven.get(pair) !== undefined;
    const count = (map: ExpiringMap<string, Failures>, of: string, limit?: Limit): Count =>
      new Count({ map, key: of, now: this.#now, limit });
    const byAddress = count(this.#places, key);
    const byPair = pair === undefined ? [] : [count(this.#places, pair)];
    const byUser = userKey === undefined || isProven ? [] : [count(this.#users, userKey)];
    const byHour = pair === undefined || isProven ? [] : [count(this.#hours, pair, HOURLY)];
    this.#refuseBeyondLimit(isProven ? byPair : [byAddress, ...byUser, ...byHour]);
    const failure = { at: this.#now(), from: key };
    for (const each of [byAddress, ...byPair, ...byHour]) each.add(failure);
    for (const each of byUser) each.addOfMany(failure, FAILED_LOGINS_PER_MINUTE / 2);
    return {
      succeed: () => {
        for (const each of [byAddress, ...byPair, ...byUser, ...byHour]) each.takeBack(failure);
        if (pair !== undefined) this.#proven.set(pair, true);
      },
      fail: (error) => {
        if (isWrongGuess(error))
          (isProven ? byPair : [byAddress]).forEach((each) => void each.strike(failure.at));
        else for (const each of [byAddress, ...byPair, ...byUser, ...byHour]) each.takeBack(failure);
      },
    };
  }

  #refuseBeyondLimit(counts: readonly Count[]): void {
    const waitMs = Math.max(...counts.map((count) => count.waitMs));
    if (waitMs <= 0) return;
    this.refusals += 1;
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
    throw new ServiceError("rate_limited", `too many failed logins: try again in ${retryAfterSeconds} s`, {
      details: { retryAfterSeconds },
    });
  }
}

type Failure = { readonly at: number; readonly from: string };

/** Failures of one key, oldest first, and how often the limit was reached. */
type Failures = {
  readonly recent: readonly Failure[];
  readonly strikes: number;
  readonly struckAt: number;
  readonly closedUntil: number;
};

const NONE: Failures = { recent: [], strikes: 0, struckAt: Number.NEGATIVE_INFINITY, closedUntil: 0 };

type Limit = { readonly max: number; readonly windowMs: number };

const MINUTELY: Limit = { max: FAILED_LOGINS_PER_MINUTE, windowMs: LOGIN_WINDOW_MS };
const HOURLY: Limit = { max: FAILED_LOGINS_PER_HOUR, windowMs: 3_600_000 };

class Count {
  readonly #map: ExpiringMap<string, Failures>;
  readonly #key: string;
  readonly #now: () => number;
  readonly #limit: Limit;

  constructor(parts: {
    readonly map: ExpiringMap<string, Failures>;
    readonly key: string;
    readonly now: () => number;
    readonly limit: Limit | undefined;
  }) {
    this.#map = parts.map;
    this.#key = parts.key;
    this.#now = parts.now;
    this.#limit = parts.limit ?? MINUTELY;
  }

  /** Until the next try is allowed. */
  get waitMs(): number {
    const { recent, closedUntil } = this.#failures;
    const [first] = recent;
    const { max, windowMs } = this.#limit;
    const isFull = recent.length >= max && first !== undefined;
    return Math.max(0, closedUntil - this.#now(), isFull ? first.at + windowMs - this.#now() : 0);
  }

  add(failure: Failure): void {
    const failures = this.#failures;
    this.#map.set(this.#key, { ...failures, recent: [...failures.recent, failure] });
  }

  /** At most `max` from one address. */
  addOfMany(failure: Failure, max: number): void {
    if (this.#failures.recent.filter(({ from }) => from === failure.from).length < max) this.add(failure);
  }

  takeBack({ at, from }: Failure): void {
    const failures = this.#failures;
    const index = failures.recent.findLastIndex((each) => each.at === at && each.from === from);
    if (index < 0) return;
    this.#map.set(this.#key, { ...failures, recent: failures.recent.toSpliced(index, 1) });
  }

  /**
   * Called for a failed try. The second time that the limit is reached costs a wait, and each later time a longer
   * one.
   */
  strike(startedAt: number): void {
    const failures = this.#failures;
    if (failures.recent.length < FAILED_LOGINS_PER_MINUTE || startedAt < failures.struckAt) return;
    const strikes = failures.strikes + 1;
    const penaltyMs = Math.min((2 ** (strikes - 1) - 1) * LOGIN_WINDOW_MS, MAX_LOGIN_PENALTY_MS);
    const now = this.#now();
    this.#map.set(this.#key, { ...failures, strikes, struckAt: now, closedUntil: now + penaltyMs });
  }

  get #failures(): Failures {
    const failures = this.#map.get(this.#key) ?? NONE;
    const since = this.#now() - this.#limit.windowMs;
    return { ...failures, recent: failures.recent.filter(({ at }) => at > since) };
  }
}

type Attempt = { readonly succeed: () => void; readonly fail: (error: unknown) => void };

function isWrongGuess(error: unknown): boolean {
  return (
    error instanceof ServiceError && (error.code === "invalid_credentials" || error.code === "unauthorized")
  );
}

function hash(user: string): string {
  return createHash("sha256").update(user).digest("base64url");
}
