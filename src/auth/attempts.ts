import { createHash } from "node:crypto";
import { addressKey } from "../lib/address.ts";
import { ExpiringMap } from "../lib/expiring-map.ts";
import { ServiceError } from "../protocol/errors.ts";
import {
  FAILED_LOGINS_PER_MINUTE,
  LOGIN_WINDOW_MS,
  MAX_COUNTED_LOGINS,
  PROVEN_LOGIN_MS,
} from "../protocol/limits.ts";

/** Who tries to log in: from which address, and as whom where a name was given. */
export type Claimant = { readonly address: string | undefined; readonly user?: string };

/**
 * Failed logins: 10 a minute for each address and for each user, always on (contract 4.2). A try counts while it is
 * under way, so that many at once win nothing, and is taken back unless it fails as `invalid_credentials` or
 * `unauthorized`; a success pardons none of the failures before it.
 *
 * Whoever knows a user's name could keep that user out everywhere. So an address at which the user logged in within
 * the last hour answers for its own failures alone: remotes go on registering with an HQ that somebody guesses at.
 *
 * At most MAX_COUNTED_LOGINS addresses and as many users are counted at a time; over that the one that failed
 * longest ago is forgotten. To make use of that takes a thousand addresses a minute. As many logins are remembered.
 */
export class LoginAttempts {
  /** Tries that were refused unlooked at, since the start. */
  refusals = 0;
  readonly #addresses: ExpiringMap<string, readonly number[]>;
  readonly #users: ExpiringMap<string, readonly number[]>;
  /** Address and user of logins that succeeded. */
  readonly #proven: ExpiringMap<string, true>;
  readonly #now: () => number;

  /** `now` in milliseconds, never going back. */
  constructor(now: () => number) {
    const limits = { lifetimeMs: LOGIN_WINDOW_MS, maxEntries: MAX_COUNTED_LOGINS, now };
    this.#addresses = new ExpiringMap(limits);
    this.#users = new ExpiringMap(limits);
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

  #begin(claimant: Claimant): Attempt {
    const { byAddress, byUser, proof } = this.#lookUp(claimant);
    const isProven = proof !== undefined && this.#proven.get(proof) !== undefined;
    this.#refuseBeyondLimit(isProven || byUser === undefined ? [byAddress] : [byAddress, byUser]);
    const counts = byUser === undefined ? [byAddress] : [byAddress, byUser];
    const startedAt = this.#now();
    for (const count of counts) count.set([...count.times(), startedAt]);
    return {
      succeed: () => {
        takeBack(counts, startedAt);
        if (proof !== undefined) this.#proven.set(proof, true);
      },
      fail: (error) => {
        if (!isWrongGuess(error)) takeBack(counts, startedAt);
      },
    };
  }

  #refuseBeyondLimit(counts: readonly Count[]): void {
    const waits = counts
      .map((count) => count.times())
      .filter((times) => times.length >= FAILED_LOGINS_PER_MINUTE)
      .map(([first = 0]) => Math.ceil((first + LOGIN_WINDOW_MS - this.#now()) / 1000));
    if (waits.length === 0) return;
    this.refusals += 1;
    const retryAfterSeconds = Math.max(1, ...waits);
    throw new ServiceError("rate_limited", `too many failed logins: try again in ${retryAfterSeconds} s`, {
      details: { retryAfterSeconds },
    });
  }

  #lookUp({ address, user }: Claimant): LookUp {
    const key = addressKey(address);
    const byAddress = this.#count(this.#addresses, key);
    if (user === undefined) return { byAddress, byUser: undefined, proof: undefined };
    // Hashed, so that long names take no room.
    const userKey = hash(user);
    return { byAddress, byUser: this.#count(this.#users, userKey), proof: `${key} ${userKey}` };
  }

  #count(map: ExpiringMap<string, readonly number[]>, key: string): Count {
    const since = (): number => this.#now() - LOGIN_WINDOW_MS;
    return {
      times: () => (map.get(key) ?? []).filter((time) => time > since()),
      set: (times) => (times.length === 0 ? map.delete(key) : map.set(key, times)),
    };
  }
}

/** A login that is under way. */
type Attempt = { readonly succeed: () => void; readonly fail: (error: unknown) => void };

type LookUp = {
  readonly byAddress: Count;
  readonly byUser: Count | undefined;
  /** Under what a success is remembered. */
  readonly proof: string | undefined;
};

/** When the tries of one address or one user began, oldest first. */
type Count = {
  readonly times: () => readonly number[];
  readonly set: (times: readonly number[]) => void;
};

function takeBack(counts: readonly Count[], startedAt: number): void {
  for (const count of counts) {
    const times = count.times();
    const index = times.lastIndexOf(startedAt);
    if (index >= 0) count.set(times.toSpliced(index, 1));
  }
}

function isWrongGuess(error: unknown): boolean {
  return (
    error instanceof ServiceError && (error.code === "invalid_credentials" || error.code === "unauthorized")
  );
}

function hash(user: string): string {
  return createHash("sha256").update(user).digest("base64url");
}
