import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import { GIT_NOTICE_LIFETIME_MS, MAX_GIT_NOTICE_READERS, MAX_GIT_NOTICES } from "../git-limits.ts";

/** A notification and the user that it is for. */
export type Notice = { readonly notification: GitNotification; readonly user: string };

type Kept = Notice & { readonly number: number; readonly madeAtMs: number };

/** Notifications of follow mode (contract 7.6), each delivered once to each client. */
export class Notices {
  readonly #kept: Kept[] = [];
  /** Number of each client's last notification. */
  readonly #told: ExpiringMap<string, number>;
  readonly #now: () => number;
  #last = 0;

  /** `now` in milliseconds, monotonic. */
  constructor({ now }: { readonly now: () => number }) {
    this.#now = now;
    this.#told = new ExpiringMap({
      ...{ lifetimeMs: GIT_NOTICE_LIFETIME_MS, maxEntries: MAX_GIT_NOTICE_READERS, now },
    });
  }

  add(notice: Notice): void {
    this.#last += 1;
    this.#kept.push({ ...notice, number: this.#last, madeAtMs: this.#now() });
    this.#forget();
  }

  /** The client's new notifications among those that `sees` admits; the oldest first. */
  take(client: string, sees: (notice: Notice) => boolean): readonly GitNotification[] {
    this.#forget();
    const told = this.#told.get(client) ?? 0;
    this.#told.set(client, this.#last);
    return this.#kept
      .filter((notice) => notice.number > told && sees(notice))
      .map(({ notification }) => notification);
  }

  #forget(): void {
    const oldest = this.#now() - GIT_NOTICE_LIFETIME_MS;
    while (this.#kept.length > MAX_GIT_NOTICES || (this.#kept[0]?.madeAtMs ?? Infinity) < oldest) {
      this.#kept.shift();
    }
  }
}
