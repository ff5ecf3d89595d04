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

/** Who tries to log in: from which address, and as whom where a name was given. */
export type Claimant = { readonly address: string | undefined; readonly user?: string };

/**
 * Failed logins: 10 a minute for each address and for each user, always on (contract 4.2). A try counts while it is
 * under way, so that many at once win nothing, and is taken back unless it fails as `invalid_credentials` or
 * `unauthorized`; a success pardons none of the failures before it. Each further time within an hour that an address
 * has its ten failures, it waits longer: a minute more, three more, up to MAX_LOGIN_PENALTY_MS.
 *
 * One address locks nobody else out, and a few do so for minutes. Of the ten failures that a user may have, one address
 * can cause half, and 20 within an hour. So n addresses keep a user out elsewhere for at most 2n minutes of an hour.
 *
 * An address at which the user logged in within the last PROVEN_LOGIN_MS has a count of its own for that user: neither
 * failures elsewhere nor those of others at the same address (behind a proxy that is not trusted) keep that user out there.
 *
 * At most MAX_COUNTED_LOGINS addresses and as many users are counted at a time; over that the one that failed
 * longest ago is forgotten. To make use of that takes a thousand addresses for the counts of a minute, and seventeen for
 * those of an hour. As many logins are remembered.
 */
export class LoginAttempts {
  /** Tries that were refused unlooked at, since the start. */
  refusals = 0;
  /** By address, and for proven logins by address and user. */
  readonly #places: ExpiringMap<string, Failures>;
  readonly #users: ExpiringMap<string, Failures>;
  /** Over an hour, by address and user, where no login is proven. */
  readonly #hours: ExpiringMap<string, Failures>;
  /** Address and user of logins that succeeded. */
  readonly #proven: ExpiringMap<string, true>;
  readonly #now: () => number;

  /** `now` in milliseconds, never going back. */
  constructor(now: () => number) {
    const limits = { lifetimeMs: LOGIN_WINDOW_MS, maxEntries: MAX_COUNTED_LOGINS, now };
    this.#places = new ExpiringMap({ ...limits, lifetimeMs: LOGIN_PENALTY_MEMORY_MS });
    this.#users = new ExpiringMap(limits);
    this.#hours = new ExpiringMap({ ...limits, lifetimeMs: HOURLY.windowMs });
    this.#proven = new ExpiringMap({ ...limits, lifetimeMs: PROVEN_LOGIN_MS });
    this.#now = now;
  }

  /** Runs a login, unless too many failed: ServiceError `rate_limited`, `details.retryAfterSeconds`. */
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

  /** The same for a login that is over at once. */
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
    // Hashed, so that long names take no room.
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

/** Of one address or one user: failures, oldest first, and how often there were ten within a minute. */
type Failures = {
  readonly recent: readonly Failure[];
  readonly strikes: number;
  readonly struckAt: number;
  readonly closedUntil: number;
};

const NONE: Failures = { recent: [], strikes: 0, struckAt: Number.NEGATIVE_INFINITY, closedUntil: 0 };

/** So many failures within so long. */
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

  /** Until the next try; 0 for at once. */
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

  /** At most so many from one place. */
  addOfMany(failure: Failure, max: number): void {
    if (this.#failures.recent.filter(({ from }) => from === failure.from).length < max) this.add(failure);
  }

  takeBack({ at, from }: Failure): void {
    const failures = this.#failures;
    const index = failures.recent.findLastIndex((each) => each.at === at && each.from === from);
    if (index < 0) return;
    this.#map.set(this.#key, { ...failures, recent: failures.recent.toSpliced(index, 1) });
  }

  /** A try that began then has failed: where it is the tenth, the second such time costs a wait, and each later one a longer. */
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

/** A login that is under way. */
type Attempt = { readonly succeed: () => void; readonly fail: (error: unknown) => void };

function isWrongGuess(error: unknown): boolean {
  return (
    error instanceof ServiceError && (error.code === "invalid_credentials" || error.code === "unauthorized")
  );
}

function hash(user: string): string {
  return createHash("sha256").update(user).digest("base64url");
}
