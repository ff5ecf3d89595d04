import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import { GIT_NOTICE_LIFETIME_MS, MAX_GIT_NOTICE_READERS, MAX_GIT_NOTICES } from "../git-limits.ts";

/** A notification and the user that it is for. */
export type Notice = { readonly notification: GitNotification; readonly user: string };

/** Notifications of follow mode (contract 7.6), each delivered once to each client. */
export class Notices {
  /** The oldest first. */
  readonly #kept: ExpiringMap<number, Notice & { readonly number: number }>;
  readonly #told: ExpiringMap<string, number>;
  #last = 0;

  /** `now` in milliseconds, monotonic. */
  constructor({ now }: { readonly now: () => number }) {
    const memory = { lifetimeMs: GIT_NOTICE_LIFETIME_MS, now };
    this.#kept = new ExpiringMap({ ...memory, maxEntries: MAX_GIT_NOTICES });
    this.#told = new ExpiringMap({ ...memory, maxEntries: MAX_GIT_NOTICE_READERS });
  }

  add(notice: Notice): void {
    this.#last += 1;
    this.#kept.set(this.#last, { ...notice, number: this.#last });
  }

  /** The client's new notifications among those that `sees` admits; the oldest first. */
  take(client: string, sees: (notice: Notice) => boolean): readonly GitNotification[] {
    const told = this.#told.get(client) ?? 0;
    this.#told.set(client, this.#last);
    return this.#kept
      .values()
      .filter((notice) => notice.number > told && sees(notice))
      .map(({ notification }) => notification);
  }
}
