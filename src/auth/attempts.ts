import { createHash } from "node:crypto";
import { addressKey } from "../lib/address.ts";
import { ExpiringMap } from "../lib/expiring-map.ts";
import { ServiceError } from "../protocol/errors.ts";
import { FAILED_LOGINS_PER_MINUTE, LOGIN_WINDOW_MS, MAX_COUNTED_LOGINS } from "../protocol/limits.ts";

/** Who tries to log in: from which address, and as whom where a name was given. */
export type Claimant = { readonly address: string | undefined; readonly user?: string };

/**
 * Failed logins: 10 a minute for each address and for each user, always on (contract 4.2). A try counts while it is
 * under way, so that many at once win nothing, and is taken back unless it fails as `invalid_credentials` or
 * `unauthorized`; a success pardons none of the failures before it.
 *
 * At most MAX_COUNTED_LOGINS addresses and as many users are counted at a time; over that the one that failed
 * longest ago is forgotten. To make use of that takes a thousand addresses a minute.
 */
export class LoginAttempts {
  readonly #addresses: ExpiringMap<string, readonly number[]>;
  readonly #users: ExpiringMap<string, readonly number[]>;
  readonly #now: () => number;

  /** `now` in milliseconds, never going back. */
  constructor(now: () => number) {
    const limits = { lifetimeMs: LOGIN_WINDOW_MS, maxEntries: MAX_COUNTED_LOGINS, now };
    this.#addresses = new ExpiringMap(limits);
    this.#users = new ExpiringMap(limits);
    this.#now = now;
  }

  /** Runs a login, unless too many failed: ServiceError `rate_limited`, `details.retryAfterSeconds`. */
  async guard<T>(claimant: Claimant, login: () => Promise<T>): Promise<T> {
    const counts = this.#counts(claimant);
    this.#refuseBeyondLimit(counts);
    const startedAt = this.#now();
    for (const count of counts) count.set([...count.times(), startedAt]);
    try {
      const result = await login();
      takeBack(counts, startedAt);
      return result;
    } catch (error) {
      if (!isWrongGuess(error)) takeBack(counts, startedAt);
      throw error;
    }
  }

  #refuseBeyondLimit(counts: readonly Count[]): void {
    const waits = counts
      .map((count) => count.times())
      .filter((times) => times.length >= FAILED_LOGINS_PER_MINUTE)
      .map(([first = 0]) => Math.ceil((first + LOGIN_WINDOW_MS - this.#now()) / 1000));
    if (waits.length === 0) return;
    const retryAfterSeconds = Math.max(1, ...waits);
    throw new ServiceError("rate_limited", `too many failed logins: try again in ${retryAfterSeconds} s`, {
      details: { retryAfterSeconds },
    });
  }

  #counts({ address, user }: Claimant): readonly Count[] {
    const byAddress = this.#count(this.#addresses, addressKey(address));
    // Hashed, so that long names take no room.
    return user === undefined ? [byAddress] : [byAddress, this.#count(this.#users, hash(user))];
  }

  #count(map: ExpiringMap<string, readonly number[]>, key: string): Count {
    const since = (): number => this.#now() - LOGIN_WINDOW_MS;
    return {
      times: () => (map.get(key) ?? []).filter((time) => time > since()),
      set: (times) => (times.length === 0 ? map.delete(key) : map.set(key, times)),
    };
  }
}

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
