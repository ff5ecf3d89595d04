// The records of logins and API tokens: who, how, from where, since when, last used.
import { z } from "zod";
import { type LiveRecord, putOrEnd, type RecordStore } from "../../lib/data/live-records.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  LOGIN_USE_INTERVAL_MS,
  MAX_API_TOKENS,
  MAX_API_TOKENS_PER_USER,
  MAX_CLIENT_LENGTH,
  MAX_LOGINS,
  MAX_LOGINS_PER_USER,
} from "../../protocol/limits.ts";
import { LoginRecord } from "../../protocol/schemas/login.ts";
import { TokenScope } from "../../protocol/schemas/permission.ts";

type LoginKind = "login" | "token";

/** `address`: undefined on a unix socket. `client`: the User-Agent. */
export type LoginSource = {
  readonly address: string | undefined;
  readonly client?: string | undefined;
};

/** `lastUsedAt`: absent until the first recorded use; another use may follow within LOGIN_USE_INTERVAL_MS. */
const Kept = LoginRecord.omit({ id: true, expiresAt: true, current: true }).partial({ lastUsedAt: true });
type Kept = z.infer<typeof Kept>;
const KeptToken = Kept.extend({ name: z.string(), scope: z.array(TokenScope) });

type Place = { readonly id: string; readonly expiresAtS: number };
export type KeptLogin = Place & Kept;
export type KeptToken = Place & z.infer<typeof KeptToken>;
type NewLogin = LoginSource & { readonly user: string; readonly method: string };
export type NewToken = NewLogin & { readonly name: string; readonly scope: readonly TokenScope[] };

type LoginRecordsOptions = {
  readonly records: Pick<RecordStore, "get" | "find" | "list" | "put" | "end">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** An unused login ends after this time; `undefined`: when it expires. */
  readonly idleMs?: number | undefined;
  readonly log: Pick<Log, "warn">;
};

/** Uses within LOGIN_USE_INTERVAL_MS are not written, so that an idle login ends up to that much late, never early. */
export class LoginRecords {
  readonly #options: LoginRecordsOptions;
  readonly #useIntervalMs: number;

  constructor(options: LoginRecordsOptions) {
    this.#options = options;
    this.#useIntervalMs = Math.min(LOGIN_USE_INTERVAL_MS, (options.idleMs ?? Infinity) / 4);
  }

  /** Over MAX_LOGINS_PER_USER, or MAX_LOGINS in total, the oldest login ends. */
  async add(place: Place, login: NewLogin): Promise<void> {
    const { records, log } = this.#options;
    const oldest = this.#beyondBounds(login.user);
    const value = this.#valueOf(login);
    try {
      await Promise.all([records.put({ ...place, kind: "login", value }), records.end(oldest)]);
    } catch (error) {
      // The login works in spite of a full disk, until a restart.
      log.warn({ error, user: login.user }, "login not stored yet");
    }
  }

  /** Throws `token_name_taken`, `too_many_tokens`. */
  async addToken(place: Place, { name, scope, ...login }: NewToken): Promise<KeptToken> {
    const { records } = this.#options;
    const own = this.tokens(login.user);
    if (own.some((token) => token.name === name)) {
      const message = `there is an API token ${name}: revoke it, or choose another name`;
      throw new ServiceError("token_name_taken", message);
    }
    if (own.length >= MAX_API_TOKENS_PER_USER || records.list("token").length >= MAX_API_TOKENS) {
      const message = `there are ${own.length} API tokens of ${login.user}: revoke some first`;
      throw new ServiceError("too_many_tokens", message);
    }
    const value = { ...this.#valueOf(login), name, scope: [...scope] };
    await putOrEnd(records, { ...place, kind: "token", value });
    return { ...value, ...place };
  }

  /** Valid logins, of one user or of all, latest first. */
  list(user?: string): readonly KeptLogin[] {
    return this.#listed("login", Kept, user);
  }

  /** Valid API tokens, of one user or of all, latest first. */
  tokens(user?: string): readonly KeptToken[] {
    return this.#listed("token", KeptToken, user);
  }

  /** Records a use; `scope`: of an API token. ServiceError `unauthorized` for a login that has ended. */
  use(record: LiveRecord): Kept & { readonly scope?: readonly TokenScope[] } {
    const login = loginOf(record);
    if (login === undefined) throw new ServiceError("unauthorized", "login is over: log in again");
    if (this.isIdle(record)) {
      const message = "login was not used for longer than this server allows: log in again";
      throw new ServiceError("unauthorized", message);
    }
    this.#noteUse(record);
    return login;
  }

  /** False for API tokens, which last until they expire. */
  isIdle(record: LiveRecord): boolean {
    const { idleMs } = this.#options;
    const login = record.kind === "login" ? loginOf(record) : undefined;
    if (login === undefined || idleMs === undefined) return false;
    return this.#sinceMs(login.lastUsedAt ?? login.createdAt) > idleMs + this.#useIntervalMs;
  }

  /** Keeps a login in use until disposed. */
  hold(id: string): Disposable {
    const note = (): void => {
      const record = this.#options.records.get(id);
      if (record !== undefined) this.#noteUse(record);
    };
    const timer = setInterval(note, this.#useIntervalMs / 2).unref();
    const held = new DisposableStack();
    held.defer(note);
    held.defer(() => clearInterval(timer));
    return held;
  }

  /**
   * Ends a login or API token of that user, or of any, and all its connections; returns its user. ServiceError
   * `login_not_found`, `token_not_found`.
   */
  async end(kind: LoginKind, id: string, user?: string): Promise<string> {
    const { records } = this.#options;
    const record = await records.find(id);
    const login = record && loginOf(record);
    if (login !== undefined && record?.kind === kind && (user ?? login.user) === login.user) {
      await records.end([record]);
      return login.user;
    }
    if (kind === "login") throw new ServiceError("login_not_found", `no login ${id}`);
    throw new ServiceError("token_not_found", `no API token ${id}`);
  }

  #listed<Value extends Kept>(
    kind: LoginKind,
    schema: z.ZodType<Value>,
    user: string | undefined,
  ): readonly (Place & Value)[] {
    return this.#options.records
      .list(kind)
      .filter((record) => !this.isIdle(record))
      .flatMap(({ id, expiresAtS, value }) => {
        const { data } = schema.safeParse(value);
        return data === undefined ? [] : [{ ...data, id, expiresAtS }];
      })
      .filter((login) => user === undefined || login.user === user)
      .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  }

  #noteUse(record: LiveRecord): void {
    const login = loginOf(record);
    if (login === undefined) return;
    // The first use of a login is the login itself.
    const { lastUsedAt = record.kind === "login" ? login.createdAt : undefined } = login;
    const isNoted = lastUsedAt !== undefined && this.#sinceMs(lastUsedAt) < this.#useIntervalMs;
    if (isNoted) return;
    const value = { ...Object(record.value), lastUsedAt: this.#iso() };
    // It counts at once; a failed write is repeated with a later use.
    void this.#options.records.put({ ...record, value }).catch(() => undefined);
  }

  #valueOf({ user, method, address, client }: NewLogin): Kept {
    return { user, method, createdAt: this.#iso(), address, client: client?.slice(0, MAX_CLIENT_LENGTH) };
  }

  #sinceMs(time: string): number {
    return this.#options.now() - Date.parse(time);
  }

  #iso(): string {
    return new Date(this.#options.now()).toISOString();
  }

  /** The oldest logins, if one more needs their place. */
  #beyondBounds(user: string): readonly LiveRecord[] {
    const logins = this.#options.records.list("login").toSorted((a, b) => a.expiresAtS - b.expiresAtS);
    const own = logins.filter((record) => loginOf(record)?.user === user);
    const over = (all: readonly LiveRecord[], max: number): readonly LiveRecord[] =>
      all.slice(0, Math.max(0, all.length + 1 - max));
    return [...new Set([...over(own, MAX_LOGINS_PER_USER), ...over(logins, MAX_LOGINS)])];
  }
}

function loginOf({ kind, value }: LiveRecord): ReturnType<LoginRecords["use"]> | undefined {
  if (kind === "login") return Kept.safeParse(value).data;
  return kind === "token" ? KeptToken.safeParse(value).data : undefined;
}
