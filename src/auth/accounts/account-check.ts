// Closed accounts: an old token of an account that was closed since must not work.
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { ACCOUNT_MEMORY_MS } from "../../protocol/limits.ts";
import type { LoginWatch, RequestClaims } from "../chain.ts";
import type { Principal } from "../principal.ts";
import { permits } from "../roles.ts";
import type { Creator } from "../tokens/shares.ts";
import type { Users } from "../users.ts";
import type { Accounts } from "./accounts.ts";

type AccountCheckOptions = {
  readonly accounts: Pick<Accounts, "status">;
  readonly users: Pick<Users, "isOwn" | "mayLogIn" | "standing">;
  /** If they may give users a role. */
  readonly groupsOf?: ((user: string) => Promise<readonly string[]>) | undefined;
  readonly creatorOf: (shareId: string) => Creator | undefined;
  /** Whether all other users who log in here are system users. */
  readonly hasSystemUsers: boolean;
  readonly log: Pick<Log, "info" | "warn">;
  /** How often open sockets and streams are checked. */
  readonly intervalMs?: number;
};

type Logins = {
  readonly authenticate: (request: RequestClaims) => Promise<Principal>;
  readonly whenOver: LoginWatch;
};

/**
 * The same, without callers whose account does not exist or may not log in (expired, no login shell): ServiceError
 * `unauthorized`, and `internal_error` if the system does not answer. A user named by a proxy or an HQ need not have an
 * account here, but a closed one counts. For a guest the creator of the share link is checked, who must still be permitted
 * to share: the guest's input runs as that user. Open connections end when the account is closed or its groups give it
 * another role; no answer from the system closes nothing.
 */
export function checkAccounts({ authenticate, whenOver }: Logins, options: AccountCheckOptions): Logins {
  const { log, intervalMs = ACCOUNT_MEMORY_MS } = options;
  return {
    authenticate: async (request) => {
      const principal = await authenticate(request);
      const reason = await refusalOf(principal, options);
      if (reason === undefined) return principal;
      log.info({ user: principal.user, reason }, "login of a closed account refused");
      throw new ServiceError("unauthorized", "this user may not log in here");
    },
    whenOver: (principal, over) => {
      const watch = new DisposableStack();
      watch.use(whenOver(principal, over));
      const { user } = principal;
      const check = async (): Promise<void> => {
        const reason = await refusalOf(principal, options);
        const hasChanged = reason === undefined && (await hasOtherRole(principal, options));
        if (watch.disposed || !(hasChanged || reason !== undefined)) return;
        watch.dispose();
        if (hasChanged) log.info({ user }, "connection of a user with another role ended");
        else log.info({ user, reason }, "login of a closed account ended");
        over(hasChanged ? "role changed" : "account closed");
      };
      const failed = (error: unknown): void => log.warn({ error, user }, "an account could not be checked");
      const timer = setInterval(() => void check().catch(failed), intervalMs).unref();
      watch.defer(() => clearInterval(timer));
      return watch;
    },
  };
}

/** The reason why the principal may no longer use the server. */
async function refusalOf(
  principal: Principal,
  { accounts, users, groupsOf, creatorOf: sharedBy, hasSystemUsers }: AccountCheckOptions,
): Promise<string | undefined> {
  const { rights, tokenId = "", account: systemUser } = principal;
  const isGuest = rights.kind === "invited";
  const { user, through } = isGuest ? (sharedBy(tokenId) ?? {}) : creatorOf(principal);
  if (user === undefined) return undefined;
  // The creator must still be admitted in the way in which the link was created.
  if (isGuest && through !== undefined && through !== "other" && !users.mayLogIn(user, through))
    return "the creator of the share link may not log in";
  // Its role may be another one than when the link was created. Groups from a proxy are not known now.
  if (isGuest && through === "login") {
    const { rights: creatorRights } = users.standing(user, await groupsOf?.(user));
    if (!permits(creatorRights, "sessions:manage"))
      return "the creator of the share link may not share sessions";
  }
  const isOfSystem = systemUser !== undefined || (hasSystemUsers && (isGuest || through === "login"));
  if (users.isOwn(user) || !isOfSystem) return undefined;
  const { account, refusal } = await accounts.status(user);
  if (account !== undefined) return refusal;
  return through === "login" ? "there is no such user" : undefined;
}

/** Whether a new request with that login would have another role. */
async function hasOtherRole(
  principal: Principal,
  { users, groupsOf }: AccountCheckOptions,
): Promise<boolean> {
  const { user, rights } = principal;
  if (groupsOf === undefined || !("role" in rights) || creatorOf(principal).through !== "login") return false;
  return users.standing(user, await groupsOf(user)).rights.role !== rights.role;
}

/** Logins by a system password or key. */
const BY_TOKEN: ReadonlySet<Principal["method"]> = new Set(["token", "api-token", "ticket"]);

/** The creator of a share link, as kept for the check of its guests. */
export function creatorOf(principal: Principal): Creator {
  const { user, method, rights, tokenId } = principal;
  // Nobody else gets a token here. A ticket of a proxied user has none.
  const isLogin = rights.kind !== "invited" && tokenId !== undefined && BY_TOKEN.has(method);
  if (isLogin) return { user, through: "login", tokenId };
  const isProxied = method === "proxy" || (method === "ticket" && tokenId === undefined);
  return { user, through: isProxied ? "proxy" : "other" };
}
