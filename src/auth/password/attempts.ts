import { createHash } from "node:crypto";
import { z } from "zod";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import type { FailedLogins } from "../../lib/data/live-records.ts";
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

/** `user`: the name that was given, if any. */
export type Claimant = { readonly address: string | undefined; readonly user?: string };

const HOUR_MS = 3_600_000;

/**
 * Limits failed logins: 10 a minute for each address and each user, always (contract 4.2). A try counts while it runs, so
 * that parallel tries gain nothing; only refusals count in the end. A success does not reset earlier failures. Each
 * further time within an hour that an address reaches the limit it waits longer: 1 more minute, then 3, up to
 * MAX_LOGIN_PENALTY_MS.
 *
 * One address can cause at most half of a user's ten failures, and 20 in an hour, so that n addresses lock a user out for
 * at most 2n minutes of an hour. An address at which the user logged in within PROVEN_LOGIN_MS has a count of its own for
 * that user, which failures of others do not affect.
 *
 * At most MAX_COUNTED_LOGINS addresses and users are counted; over that the oldest is dropped, which takes 17 addresses
 * or more to exploit.
 */
export class LoginAttempts {
  /** Tries refused without checking the proof. */
  refusals = 0;
  /** By address, and by address and user for proven logins. */
  readonly #places: (key: string) => Failures;
  readonly #users: (key: string) => Failures;
  /** By address and user, over an hour, unless the login is proven. */
  readonly #hours: (key: string) => Failures;
  /** Address and user of successful logins. */
  readonly #proven: ExpiringMap<string, true>;
  readonly #now: () => number;
  readonly #others: FailedLogins | undefined;

  /** `now`: monotonic milliseconds. `others`: the failures of other HQs are counted as well. */
  constructor(now: () => number, others?: FailedLogins) {
    const minute = { max: FAILED_LOGINS_PER_MINUTE, windowMs: LOGIN_WINDOW_MS, now };
    this.#places = failuresByKey(minute, LOGIN_PENALTY_MEMORY_MS);
    this.#users = failuresByKey({ ...minute, maxFromOne: FAILED_LOGINS_PER_MINUTE / 2 });
    this.#hours = failuresByKey({ max: FAILED_LOGINS_PER_HOUR, windowMs: HOUR_MS, now });
    this.#proven = new ExpiringMap({ lifetimeMs: PROVEN_LOGIN_MS, maxEntries: MAX_COUNTED_LOGINS, now });
    this.#now = now;
    this.#others = others;
    others?.watch((text, agoMs) => this.#failedElsewhere(text, agoMs));
  }

  /** Runs a login. Too many failures: ServiceError `rate_limited` with `details.retryAfterSeconds`. */
  async guard<T>(claimant: Claimant, login: () => Promise<T>): Promise<T> {
    const attempt = this.begin(claimant);
    try {
      const result = await login();
      attempt.succeed();
      return result;
    } catch (error) {
      attempt.fail(error);
      throw error;
    }
  }

  /** The same for a login that the caller runs. */
  begin({ address, user }: Claimant): Attempt {
    const place = addressKey(address);
    // Hashed, to bound the size of names.
    const name = user === undefined ? undefined : createHash("sha256").update(user).digest("base64url");
    const { all, limiting, punished } = this.#countsOf(place, name);
    this.#refuseBeyondLimit(limiting);
    const failure = { at: this.#now(), from: place };
    for (const each of all) each.add(failure);
    const takeBack = (): void => {
      for (const each of all) each.takeBack(failure);
    };
    return {
      succeed: () => {
        takeBack();
        if (name !== undefined) this.#proven.set(pairOf(place, name), true);
      },
      fail: (error) => {
        if (!isRefusal(error)) return takeBack();
        punished.strike(failure.at);
        this.#others?.tell(JSON.stringify({ place, name } satisfies SharedFailure));
      },
    };
  }

  #failedElsewhere(text: string, agoMs: number): void {
    const { place, name } = SharedFailure.parse(JSON.parse(text));
    const at = this.#now() - agoMs;
    const { all, punished } = this.#countsOf(place, name);
    for (const each of all) each.add({ at, from: place });
    punished.strike(at);
  }

  #countsOf(place: string, name: string | undefined): Counts {
    const byAddress = this.#places(place);
    if (name === undefined) return { all: [byAddress], limiting: [byAddress], punished: byAddress };
    const pair = pairOf(place, name);
    const byPair = this.#places(pair);
    if (this.#proven.get(pair) !== undefined) {
      return { all: [byAddress, byPair], limiting: [byPair], punished: byPair };
    }
    const limiting = [byAddress, this.#users(name), this.#hours(pair)];
    return { all: [...limiting, byPair], limiting, punished: byAddress };
  }

  #refuseBeyondLimit(all: readonly Failures[]): void {
    const waitMs = Math.max(...all.map((failures) => failures.waitMs()));
    if (waitMs <= 0) return;
    this.refusals += 1;
    const details = { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
    const message = `too many failed logins: try again in ${details.retryAfterSeconds} s`;
    throw new ServiceError("rate_limited", message, { details });
  }
}

/** A failed try counts in `all`. A try is refused by `limiting`; `punished` decides on longer waits. */
type Counts = {
  readonly all: readonly Failures[];
  readonly limiting: readonly Failures[];
  readonly punished: Failures;
};

/** Of another HQ: an addressKey and the hash of a user's name. */
const SharedFailure = z.object({ place: z.string(), name: z.string().optional() });
type SharedFailure = z.infer<typeof SharedFailure>;

function pairOf(place: string, name: string): string {
  return `${place} ${name}`;
}

type Attempt = { readonly succeed: () => void; readonly fail: (error: unknown) => void };
type Failure = { readonly at: number; readonly from: string };
type Limit = {
  readonly max: number;
  /** Of these at most so many from one address. */
  readonly maxFromOne?: number;
  readonly windowMs: number;
  readonly now: () => number;
};

/** Keys without failures are not stored. */
function failuresByKey(limit: Limit, lifetimeMs: number = limit.windowMs): (key: string) => Failures {
  const { now } = limit;
  const known = new ExpiringMap<string, Failures>({ lifetimeMs, maxEntries: MAX_COUNTED_LOGINS, now });
  return (key) => known.get(key) ?? new Failures(limit, (failures) => known.set(key, failures));
}

/** The failures of one key, oldest first, and how often the limit was reached. */
class Failures {
  readonly #limit: Limit;
  readonly #store: (failures: Failures) => void;
  #all: readonly Failure[] = [];
  #strikes = 0;
  #struckAt = Number.NEGATIVE_INFINITY;
  #closedUntil = 0;

  /** `store`: called when something was added. */
  constructor(limit: Limit, store: (failures: Failures) => void) {
    this.#limit = limit;
    this.#store = store;
  }

  /** Until the next try is allowed. */
  waitMs(): number {
    const { max, windowMs, now } = this.#limit;
    const [first] = this.#recent;
    const isFull = this.#recent.length >= max && first !== undefined;
    return Math.max(0, this.#closedUntil - now(), isFull ? first.at + windowMs - now() : 0);
  }

  add(failure: Failure): void {
    const { maxFromOne = Number.POSITIVE_INFINITY } = this.#limit;
    if (this.#recent.filter(({ from }) => from === failure.from).length >= maxFromOne) return;
    this.#all = [...this.#recent, failure].toSorted((one, other) => one.at - other.at);
    this.#store(this);
  }

  /** Not stored again: it may have been forgotten, and a newer count be in its place. */
  takeBack(failure: Failure): void {
    this.#all = this.#recent.filter((each) => each !== failure);
  }

  /** Called for a failed try. The second time that the limit is reached costs a wait, and each later time a longer one. */
  strike(startedAt: number): void {
    const { max, now } = this.#limit;
    if (this.#recent.length < max || startedAt < this.#struckAt) return;
    const penaltyMs = Math.min((2 ** this.#strikes - 1) * LOGIN_WINDOW_MS, MAX_LOGIN_PENALTY_MS);
    this.#strikes += 1;
    this.#struckAt = now();
    this.#closedUntil = now() + penaltyMs;
    this.#store(this);
  }

  get #recent(): readonly Failure[] {
    const { windowMs, now } = this.#limit;
    return this.#all.filter(({ at }) => at > now() - windowMs);
  }
}

const REFUSALS: ReadonlySet<string> = new Set(["invalid_credentials", "unauthorized", "login_refused"]);

/** Whether the proof was wrong, rather than impossible to check. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && REFUSALS.has(error.code);
}
