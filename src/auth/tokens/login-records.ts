// Logins as they are kept and listed: who, how, from where, since when, and when they were last used.
import { z } from "zod";
import type { LiveRecord, RecordStore } from "../../lib/live-records.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  LOGIN_USE_INTERVAL_MS,
  MAX_CLIENT_LENGTH,
  MAX_LOGINS,
  MAX_LOGINS_PER_USER,
} from "../../protocol/limits.ts";

const LOGIN = "login";

/** Where a login comes from: an address, undefined on a unix socket, and the program's own User-Agent. */
export type LoginSource = {
  readonly address: string | undefined;
  readonly client?: string | undefined;
};

const Kept = z.object({
  user: z.string(),
  method: z.string(),
  createdAt: z.string(),
  /** Up to LOGIN_USE_INTERVAL_MS ago there may have been a later use. Absent until the first one. */
  lastUsedAt: z.string().optional(),
  address: z.string().optional(),
  client: z.string().optional(),
});
type Kept = z.infer<typeof Kept>;

/** `method`: how that user logged in. */
export type NewLogin = LoginSource & { readonly user: string; readonly method: string };

/** Times are ISO 8601. */
export type KeptLogin = Kept & {
  readonly id: string;
  readonly lastUsedAt: string;
  readonly expiresAtS: number;
};

export type LoginRecordsOptions = {
  readonly records: Pick<RecordStore, "get" | "find" | "list" | "put" | "end">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A login that was not used for that long is over; `undefined`: it lives until it expires. */
  readonly idleMs?: number | undefined;
  readonly log: Pick<Log, "warn">;
};

/**
 * A request that finds its login used within LOGIN_USE_INTERVAL_MS writes nothing. An idle login ends up to that long
 * late and never early.
 */
export class LoginRecords {
  readonly #options: LoginRecordsOptions;
  readonly #useIntervalMs: number;

  constructor(options: LoginRecordsOptions) {
    this.#options = options;
    this.#useIntervalMs = Math.min(LOGIN_USE_INTERVAL_MS, (options.idleMs ?? Infinity) / 4);
  }

  /** Over MAX_LOGINS_PER_USER, and MAX_LOGINS of all, the oldest login ends. */
  async add(id: string, expiresAtS: number, { client, address, user, method }: NewLogin): Promise<void> {
    const { records, log } = this.#options;
    const source = {
      ...(address === undefined ? {} : { address }),
      ...(client === undefined ? {} : { client: client.slice(0, MAX_CLIENT_LENGTH) }),
    };
    const value: Kept = { user, method, createdAt: this.#iso(), ...source };
    const crowd = this.#beyondBounds(user);
    try {
      await Promise.all([records.put({ id, kind: LOGIN, expiresAtS, value }), records.end(crowd)]);
    } catch (error) {
      // A full disk keeps nobody out; a restart before it is stored does.
      log.warn({ error, user }, "login not stored yet");
    }
  }

  /** Those that work, of one user or of everybody; the latest first. */
  list(user?: string): readonly KeptLogin[] {
    return this.#options.records
      .list(LOGIN)
      .flatMap((record) => (this.isIdle(record) ? [] : (loginOf(record) ?? [])))
      .filter((login) => user === undefined || login.user === user)
      .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  }

  /** Notes that a login is used now. Throws `unauthorized` for one that is over. */
  use(record: LiveRecord): void {
    const isKnown = loginOf(record) !== undefined;
    if (!isKnown) throw new ServiceError("unauthorized", "login is over: log in again");
    if (this.isIdle(record)) {
      const message = "login was not used for longer than this server allows: log in again";
      throw new ServiceError("unauthorized", message);
    }
    this.#noteUse(record);
  }

  /** False for what is no login. */
  isIdle(record: LiveRecord): boolean {
    const { now, idleMs } = this.#options;
    const login = loginOf(record);
    if (login === undefined || idleMs === undefined) return false;
    return now() - Date.parse(login.lastUsedAt) > idleMs + this.#useIntervalMs;
  }

  /** A login is in use until the answer is disposed of; nothing for what is no login. */
  hold(id: string): Disposable {
    const held = new DisposableStack();
    const note = (): void => {
      const record = this.#options.records.get(id);
      if (record !== undefined) this.#noteUse(record);
    };
    const timer = setInterval(note, this.#useIntervalMs / 2).unref();
    held.defer(() => {
      clearInterval(timer);
      note();
    });
    return held;
  }

  /**
   * Ends a login of that user, or of anybody, and answers whose it was; what is open by it is closed. Throws
   * `login_not_found`.
   */
  async end(id: string, user?: string): Promise<string> {
    const { records } = this.#options;
    const record = await records.find(id);
    const login = record && loginOf(record);
    if (record === undefined || login === undefined || (user !== undefined && login.user !== user)) {
      throw new ServiceError("login_not_found", `no login ${id}`);
    }
    await records.end([record]);
    return login.user;
  }

  #noteUse(record: LiveRecord): void {
    const login = loginOf(record);
    if (login === undefined) return;
    if (this.#options.now() - Date.parse(login.lastUsedAt) < this.#useIntervalMs) return;
    const value: Kept = { ...Kept.parse(record.value), lastUsedAt: this.#iso() };
    // It counts here at once. Where it is kept later it is known from the next use on.
    void this.#options.records.put({ ...record, value }).catch(() => undefined);
  }

  #iso(): string {
    return new Date(this.#options.now()).toISOString();
  }

  /** The oldest logins, as many as one more needs room for. */
  #beyondBounds(user: string): readonly LiveRecord[] {
    const logins = this.#options.records.list(LOGIN).toSorted((a, b) => a.expiresAtS - b.expiresAtS);
    const own = logins.filter((record) => loginOf(record)?.user === user);
    const all = [
      ...own.slice(0, Math.max(0, own.length + 1 - MAX_LOGINS_PER_USER)),
      ...logins.slice(0, Math.max(0, logins.length + 1 - MAX_LOGINS)),
    ];
    return [...new Set(all)];
  }
}

function loginOf({ id, kind, expiresAtS, value }: LiveRecord): KeptLogin | undefined {
  const kept = kind === LOGIN ? Kept.safeParse(value).data : undefined;
  return kept && { ...kept, lastUsedAt: kept.lastUsedAt ?? kept.createdAt, id, expiresAtS };
}
