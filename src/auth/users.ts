import type { Principal } from "./principal.ts";
import { ALL, OWN } from "./rights.ts";

/** `--allow-user` for everybody that a proxy, the system or a key proves. */
const ANYBODY = "*";

/** Who may be logged in, and what they may do then (contract 5.7). */
export type Users = {
  /** Whether that user may be logged in now; a token outlives the options that it was issued under. */
  mayLogIn(user: string): boolean;
  /** What belongs to a user beside the name. */
  standing(user: string): Pick<Principal, "rights" | "owner" | "account">;
  /**
   * The system user that programs of that owner run as; `undefined`: the server's own. An owner is never the server itself,
   * whatever an HQ's user is called.
   */
  accountOf(owner: string): string | undefined;
};

export type UserNames = {
  readonly serverUser: string;
  readonly isRoot: boolean;
  readonly configuredUser: string | undefined;
  readonly allowUsers: readonly string[];
  readonly adminUsers: readonly string[];
};

/**
 * The server's own user, the one with the configured password and those of `--admin-user` may everything; those of
 * `--allow-user` own what they start. A server that runs as root lets every user of the system in unless
 * `--allow-user` names some, and runs programs as the user who logged in.
 */
export function usersOf(names: UserNames): Users {
  const { serverUser, isRoot, configuredUser, allowUsers, adminUsers } = names;
  const own = new Set([serverUser, ...(configuredUser === undefined ? [] : [configuredUser])]);
  const admins = new Set([...own, ...adminUsers]);
  const allowed = new Set([...admins, ...allowUsers]);
  const isOpen = allowed.has(ANYBODY) || (isRoot && allowUsers.length === 0);
  const accountOf = (owner: string): string | undefined => (isRoot ? owner : undefined);
  return {
    accountOf,
    mayLogIn: (user) => isOpen || allowed.has(user),
    standing: (user) => {
      const rights = admins.has(user) ? ALL : OWN;
      return own.has(user) ? { rights } : { rights, owner: user, account: accountOf(user) };
    },
  };
}

/** What `*` covers at no server: on a remote that runs as root, programs of that name are root's. */
const ROOT = "root";

/**
 * The same of those whom a reverse proxy names. A name at somebody else's provider is no user of this system, and may be
 * anybody's own choice: the server's own, the configured pair's and root count only where an option names them.
 */
export function proxiedUsersOf(names: UserNames): Users {
  const { serverUser, configuredUser, allowUsers, adminUsers } = names;
  const users = usersOf(names);
  const named = new Set([...allowUsers, ...adminUsers]);
  const isOpen = named.has(ANYBODY);
  const reserved: ReadonlySet<string | undefined> = new Set([serverUser, configuredUser, ROOT]);
  return { ...users, mayLogIn: (user) => named.has(user) || (isOpen && !reserved.has(user)) };
}
