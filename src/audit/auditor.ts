import type { Principal } from "../auth/principal.ts";
import type { AuditedRequest, RequestAuditHook } from "../http/audit-hook.ts";
import type { AuditHook } from "../hub/requests.ts";
import { ExpiringMap } from "../lib/data/expiring-map.ts";
import { addressKey } from "../lib/net/address.ts";
import { currentTrace } from "../lib/trace.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type AuditAction, actionOf, proxiedAction, signalled, typed, viewed } from "./actions.ts";
import type { Audit, AuditEntry } from "./entry.ts";
import { LineLimit, remoteLineLimit } from "./line-limit.ts";

/** Repeated actions, such as typing, are recorded this often. */
const ONCE_MS = 600_000;
/** Callers who never log in (by a proxy, with HQ credentials) are recorded this often. */
const DAY_MS = 86_400_000;
/** Of each kind; over that the oldest is dropped and recorded again. */
const MAX_REMEMBERED = 10_000;
/** Refusals, which anyone can cause, have at most 121 lines a minute. */
const MAX_REFUSED_KINDS = 60;

/** Not logins: each request proves anew who sent it. */
const SIGNING_IN: ReadonlySet<string> = new Set(["basic", "proxy", "hq", "local"]);
const REFUSALS: ReadonlySet<string> = new Set([
  ...["unauthorized", "invalid_credentials", "forbidden", "join_refused", "rate_limited"],
  ...["origin_not_allowed", "host_not_allowed", "password_disabled", "ssh_keys_disabled"],
]);

type Who = { readonly principal: Principal | undefined; readonly address: string | undefined };

export type AuditorOptions = {
  readonly audit: Audit;
  /** User names in the configuration. Names from clients are only recorded if they are known. */
  readonly users: readonly string[];
  /** Whether there is a system user of that name, if system users log in. */
  readonly isAccount?: (name: string) => Promise<boolean>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** On an HQ: the remote of a session. */
  readonly remoteOf?: (sessionId: string) => Promise<string | undefined>;
};

/** Decides what is written to the audit log, and how often. */
export class Auditor implements Audit, Disposable {
  readonly #options: AuditorOptions;
  readonly #refusals: LineLimit;
  /** Actions of remotes that no rate limit counts. */
  readonly #remoteActions: LineLimit;
  readonly #done: ExpiringMap<string, string>;
  /** Recorded once a day. */
  readonly #today: ExpiringMap<string, string>;
  /** Users who logged in since the start and within a day. */
  readonly #users: ExpiringMap<string, true>;
  /** Remotes of sessions, remembered because removed sessions cannot be looked up. */
  readonly #remotes: ExpiringMap<string, string>;

  constructor(options: AuditorOptions) {
    const aDay = { lifetimeMs: DAY_MS, maxEntries: MAX_REMEMBERED, now: options.now };
    this.#options = options;
    const audit: Audit = { write: (entry) => this.#write(entry) };
    this.#refusals = new LineLimit({
      ...{ audit, maxKinds: MAX_REFUSED_KINDS, others: { action: "request", result: "refused" } },
    });
    this.#remoteActions = remoteLineLimit(audit, "remote.register");
    this.#done = new ExpiringMap({ ...aDay, lifetimeMs: ONCE_MS });
    this.#today = new ExpiringMap(aDay);
    this.#users = new ExpiringMap(aDay);
    this.#remotes = new ExpiringMap(aDay);
  }

  /** An HTTP request or WebSocket handshake. */
  readonly request: RequestAuditHook = (seen) => {
    this.#noteSignIn(seen);
    const done = actionOfRequest(seen);
    if ("error" in seen.outcome) this.#refused(seen, done, codeOf(seen.outcome.error));
    else if (done !== undefined) this.#answered(seen, done, seen.outcome.answer);
  };

  /** For one WebSocket client. */
  client(who: Who): AuditHook {
    const tell = (done: AuditAction, error: unknown): void => {
      if (error === undefined) this.#did(who, done);
      else this.#didNot(who, done, codeOf(error));
    };
    return (action, error) => {
      const { kind, sessionId } = action;
      if (kind === "subscribe") tell(viewed(sessionId, "socket"), error);
      else if (kind === "signal") tell(signalled(sessionId, action.signal), error);
      // Input that arrives after the session's end is not recorded.
      else if (error === undefined || REFUSALS.has(codeOf(error))) tell(typed(sessionId), error);
    };
  }

  /** An entry from elsewhere, such as a login at the reverse proxy. Its refusals are limited together with all others. */
  write(entry: AuditEntry): void {
    if (entry.result === "ok") this.#write(entry);
    else this.#refusals.write(entry);
  }

  [Symbol.dispose](): void {
    this.#refusals[Symbol.dispose]();
    this.#remoteActions[Symbol.dispose]();
  }

  #answered(seen: AuditedRequest, done: AuditAction, answer: unknown): void {
    // A remote's refusal passes through with its status.
    const status = statusOf(answer);
    if (status !== undefined && status >= 400) this.#didNot(seen, done, `remote_status_${status}`);
    else this.#did(seen, done);
    if (done.action === "login" && done.user !== undefined) this.#users.set(done.user, true);
  }

  #refused(seen: AuditedRequest, done: AuditAction | undefined, code: string): void {
    if (done !== undefined) {
      this.#didNot(seen, done, code);
      return;
    }
    // Pages send requests before the login.
    if (!REFUSALS.has(code) || (code === "unauthorized" && !seen.hasProof)) return;
    const { method, path, host, origin } = seen;
    const isForeign = code === "origin_not_allowed" || code === "host_not_allowed";
    const details = { code, request: `${method} ${path}`, ...(isForeign ? { host, origin } : {}) };
    this.#refusals.write({ ...entryOf(seen, { action: "request" }), result: "refused", details });
  }

  #did(who: Who, done: AuditAction): void {
    const { once, daily, state, remoteKind } = done;
    if (once !== undefined && !this.#isNews(this.#done, who, once)) return;
    if (daily !== undefined && !this.#isNews(this.#today, who, daily, state)) return;
    const entry: AuditEntry = { ...entryOf(who, done), result: "ok" };
    if (remoteKind === undefined) this.#write(entry);
    else this.#remoteActions.write(entry, `${done.action} ${remoteKind}`);
  }

  #didNot(who: Who, done: AuditAction, code: string): void {
    const entry: AuditEntry = {
      ...entryOf(who, done),
      result: REFUSALS.has(code) ? "refused" : "failed",
      details: { ...done.details, code },
    };
    const { claimed } = done;
    if (claimed === undefined) this.#refusals.write(entry);
    else
      void this.#isKnown(claimed, code).then((is) =>
        this.#refusals.write(is ? { ...entry, user: claimed } : entry),
      );
  }

  /** People type passwords into the name field: unknown names are not recorded. */
  async #isKnown(name: string, code: string): Promise<boolean> {
    const { users, isAccount } = this.#options;
    if (users.includes(name) || this.#users.get(name) !== undefined) return true;
    // No lookups without a login that was checked, and so counted among the failed ones.
    if (isAccount === undefined || code === "rate_limited" || code === "password_disabled") return false;
    return await isAccount(name).catch(() => false);
  }

  #noteSignIn({ principal, address }: Who): void {
    if (principal === undefined) return;
    const { user, rights, method } = principal;
    const who = { principal, address };
    if (rights.kind === "invited") {
      if (!this.#isNews(this.#today, { principal: undefined, address }, user)) return;
      const { session, mode } = rights;
      this.#did(who, { action: "share.use", session: session.id, details: { mode } });
    } else if (method === "api-token") {
      const details = { token: principal.tokenId };
      this.#did(who, { action: "login", details, daily: `token ${details.token}` });
    } else if (SIGNING_IN.has(method) && this.#isNews(this.#today, who, "sign-in")) {
      this.#did(who, { action: "login" });
    }
  }

  #isNews(
    known: ExpiringMap<string, string>,
    { principal, address }: Who,
    what: string,
    state = "",
  ): boolean {
    const key = JSON.stringify([principal?.user, principal?.method, addressKey(address), what]);
    if (known.get(key) === state) return false;
    known.set(key, state);
    return true;
  }

  #write(entry: AuditEntry): void {
    const { audit, remoteOf } = this.#options;
    const { session, remote } = entry;
    if (remoteOf === undefined || session === undefined) {
      audit.write(entry);
      return;
    }
    const known = remote ?? this.#remotes.get(session);
    if (known !== undefined) this.#writeOf(known, entry);
    else
      void remoteOf(session).then(
        (found) => this.#writeOf(found, entry),
        () => audit.write(entry),
      );
  }

  #writeOf(remote: string | undefined, entry: AuditEntry): void {
    if (remote !== undefined && entry.session !== undefined) this.#remotes.set(entry.session, remote);
    this.#options.audit.write({ ...entry, remote });
  }
}

function entryOf({ principal, address }: Who, done: AuditAction): Omit<AuditEntry, "result"> {
  const { action, session, remote, details, user = principal?.user, method = principal?.method } = done;
  const requestId = currentTrace()?.requestId;
  return { action, user, method, address, requestId, session, remote, details };
}

function actionOfRequest({ endpoint, method, input, outcome }: AuditedRequest): AuditAction | undefined {
  if (endpoint === undefined || input === undefined) return undefined;
  const answer = "answer" in outcome ? outcome.answer : undefined;
  if (endpoint.startsWith("proxy")) return proxiedAction(method, input, answer);
  return actionOf(endpoint)?.(input, answer);
}

function codeOf(error: unknown): string {
  return error instanceof ServiceError ? error.code : "internal_error";
}

function statusOf(answer: unknown): number | undefined {
  const status: unknown = Object(answer).status;
  return typeof status === "number" ? status : undefined;
}
