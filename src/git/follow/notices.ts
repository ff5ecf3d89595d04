import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import {
  GIT_NOTICE_LIFETIME_MS,
  MAX_GIT_NOTICE_READERS_OF_USER,
  MAX_GIT_NOTICE_USERS,
  MAX_GIT_NOTICES_OF_USER,
} from "../git-limits.ts";

/** A notification and the user that it is for. */
export type Notice = { readonly notification: GitNotification; readonly user: string };

type OfUser = {
  /** The user's notifications, the oldest first. */
  readonly kept: ExpiringMap<number, Notice & { readonly number: number }>;
  /** The last notification that each of the user's clients was told. */
  readonly told: ExpiringMap<string, number>;
};

/** Notifications of follow mode (contract 7.6), each delivered once to each client. The limits are for each user. */
export class Notices {
  readonly #now: () => number;
  readonly #users: ExpiringMap<string, OfUser>;
  #last = 0;

  /** `now` in milliseconds, monotonic. */
  constructor({ now }: { readonly now: () => number }) {
    this.#now = now;
    this.#users = this.#expiring(MAX_GIT_NOTICE_USERS);
  }

  add(notice: Notice): void {
    this.#last += 1;
    this.#of(notice.user).kept.set(this.#last, { ...notice, number: this.#last });
  }

  /** The client's new notifications among those that `sees` admits; the oldest first. */
  take(
    { user, client }: { readonly user: string; readonly client: string },
    sees: (notice: Notice) => boolean,
  ): readonly GitNotification[] {
    const { told } = this.#of(user);
    const last = told.get(client) ?? 0;
    told.set(client, this.#last);
    return this.#users
      .values()
      .flatMap(({ kept }) => kept.values())
      .filter((notice) => notice.number > last && sees(notice))
      .sort((one, other) => one.number - other.number)
      .map(({ notification }) => notification);
  }

  #of(user: string): OfUser {
    const known = this.#users.get(user) ?? {
      kept: this.#expiring(MAX_GIT_NOTICES_OF_USER),
      told: this.#expiring(MAX_GIT_NOTICE_READERS_OF_USER),
    };
    this.#users.set(user, known);
    return known;
  }

  #expiring<Key, Value>(maxEntries: number): ExpiringMap<Key, Value> {
    return new ExpiringMap({ lifetimeMs: GIT_NOTICE_LIFETIME_MS, now: this.#now, maxEntries });
  }
}
