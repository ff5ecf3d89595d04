// Closed accounts: an old token of an account that was closed since must not work.
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { ACCOUNT_MEMORY_MS } from "../../protocol/limits.ts";
import type { LoginWatch, RequestClaims } from "../chain.ts";
import { type Principal, SERVERS_OWN } from "../principal.ts";
import type { Creator } from "../tokens/shares.ts";
import type { Accounts } from "./accounts.ts";

export type AccountCheckOptions = {
  readonly accounts: Pick<Accounts, "status">;
  /** Users who are the server itself: its system user and the configured one. */
  readonly ownNames: readonly string[];
  /** The creator of a share link. */
  readonly creatorOf: (shareId: string) => Creator | undefined;
  /** Whether the creator may still log in, in the same way as then. */
  readonly mayLogIn: (creator: Creator) => boolean;
  /** Whether all other users who log in here are system users. */
  readonly hasSystemUsers: boolean;
  readonly log: Pick<Log, "info" | "warn">;
  /** How often open sockets and streams are checked. */
  readonly intervalMs?: number;
};

export type Logins = {
  readonly authenticate: (request: RequestClaims) => Promise<Principal>;
  readonly whenOver: LoginWatch;
};

/**
 * Checks that the caller's account exists and may log in: not expired, with a login shell. A user named by a proxy or
 * an HQ need not have an account here, but a closed one counts. For a guest the creator of the share link is checked:
 * the guest's input runs as that user.
 */
export class AccountCheck {
  readonly #options: AccountCheckOptions;

  constructor(options: AccountCheckOptions) {
    this.#options = options;
  }

  /** The same, without callers whose account is closed. */
  guard({ authenticate, whenOver }: Logins): Logins {
    return {
      authenticate: async (request) => {
        const principal = await authenticate(request);
        await this.#require(principal);
        return principal;
      },
      whenOver: (principal, over) => {
        const watches = new DisposableStack();
        watches.use(whenOver(principal, over));
        watches.use(this.#whenClosed(principal, over));
        return watches;
      },
    };
  }

  /** ServiceError `unauthorized` for a closed account, `internal_error` if the system does not answer. */
  async #require(principal: Principal): Promise<void> {
    const reason = await this.#refusal(principal);
    if (reason === undefined) return;
    this.#options.log.info({ user: principal.user, reason }, "login of a closed account refused");
    throw new ServiceError("unauthorized", "this user may not log in here");
  }

  /** Calls `over` once when the account is closed. No answer from the system closes nothing. */
  #whenClosed(principal: Principal, over: (reason: string) => void): Disposable {
    const watch = new DisposableStack();
    if (this.#userToCheck(principal) === undefined) return watch;
    const { log, intervalMs = ACCOUNT_MEMORY_MS } = this.#options;
    const check = async (): Promise<void> => {
      const reason = await this.#refusal(principal);
      if (reason === undefined || watch.disposed) return;
      watch.dispose();
      log.info({ user: principal.user, reason }, "login of a closed account ended");
      over("account closed");
    };
    const failed = (error: unknown): void =>
      log.warn({ error, user: principal.user }, "an account could not be checked");
    const timer = setInterval(() => void check().catch(failed), intervalMs).unref();
    watch.defer(() => clearInterval(timer));
    return watch;
  }

  async #refusal(principal: Principal): Promise<string | undefined> {
    const creator = this.#creatorOf(principal);
    if (creator !== undefined && !this.#options.mayLogIn(creator)) return "the share link is of such a user";
    const user = this.#userToCheck(principal);
    if (user === undefined) return undefined;
    const { account, refusal } = await this.#options.accounts.status(user);
    if (account !== undefined) return refusal;
    const isOfSystem = creator === undefined ? loggedInHere(principal) : creator.through === "login";
    return isOfSystem ? "there is no such user" : undefined;
  }

  #creatorOf({ rights, tokenId = "" }: Principal): Creator | undefined {
    return rights.kind === "invited" ? this.#options.creatorOf(tokenId) : undefined;
  }

  /** `undefined`: there is no account to check. */
  #userToCheck(principal: Principal): string | undefined {
    const { ownNames, hasSystemUsers } = this.#options;
    const isGuest = principal.rights.kind === "invited";
    const user = isGuest ? this.#creatorOf(principal)?.user : principal.user;
    if (user === undefined || ownNames.includes(user)) return undefined;
    const isOfSystem =
      principal.account !== undefined || (hasSystemUsers && (isGuest || loggedInHere(principal)));
    return isOfSystem ? user : undefined;
  }
}

/** The creator of a share link, as kept for the check of its guests. */
export function creatorOf(principal: Principal | undefined): Creator {
  if (principal === undefined) return { user: SERVERS_OWN, through: "other" };
  const { user, method, tokenId } = principal;
  if (loggedInHere(principal)) return { user, through: "login" };
  const isProxied = method === "proxy" || (method === "ticket" && tokenId === undefined);
  return { user, through: isProxied ? "proxy" : "other" };
}

const BY_TOKEN: ReadonlySet<Principal["method"]> = new Set(["token", "api-token", "ticket"]);

/** By a system password or key: nobody else gets a token here. A ticket of a proxied user has none. */
function loggedInHere({ method, rights, tokenId }: Principal): boolean {
  return rights.kind !== "invited" && tokenId !== undefined && BY_TOKEN.has(method);
}
