import { ExpiringMap } from "../lib/expiring-map.ts";
import type { SystemAccount } from "../lib/system-account.ts";
import { ServiceError } from "../protocol/errors.ts";

const ACCOUNT_MEMORY_MS = 60_000;
const MAX_ACCOUNTS = 1_000;

type Find = (name: string) => Promise<SystemAccount | undefined>;

/**
 * The system users that git runs as. Who was found is known for ACCOUNT_MEMORY_MS, however often it is asked for
 * meanwhile; at most MAX_ACCOUNTS, over that the one found longest ago is looked up again. That there is nobody is not
 * remembered: a directory of users may not be there yet.
 */
export class GitAccounts {
  readonly #find: Find;
  readonly #known: ExpiringMap<string, Promise<SystemAccount | undefined>>;

  /** `now` in milliseconds; any zero point, never going back. */
  constructor({ find, now }: { readonly find: Find; readonly now: () => number }) {
    this.#find = find;
    this.#known = new ExpiringMap({ lifetimeMs: ACCOUNT_MEMORY_MS, maxEntries: MAX_ACCOUNTS, now });
  }

  /** Throws `forbidden` where there is no such user, and as `find` does. */
  async get(name: string): Promise<SystemAccount> {
    const found = await (this.#known.get(name) ?? this.#ask(name));
    if (found === undefined) throw new ServiceError("forbidden", `there is no user ${name} on this system`);
    return found;
  }

  async #ask(name: string): Promise<SystemAccount | undefined> {
    const asking = this.#find(name);
    this.#known.set(name, asking);
    let found: SystemAccount | undefined;
    try {
      found = await asking;
      return found;
    } finally {
      if (found === undefined && this.#known.get(name) === asking) this.#known.delete(name);
    }
  }
}
