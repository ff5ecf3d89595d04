import type { Role, RoleRule } from "../protocol/schemas/role.ts";
import type { Principal } from "./principal.ts";
import { rightsOf } from "./roles.ts";

/** `--allow-user` for everybody that a proxy, the system or a key proves. */
const ANYBODY = "*";

/** Who may be logged in, and what they may do then (contract 5.7). */
export type Users = {
  /** Whether that user may be logged in now; a token outlives the options that it was issued under. */
  mayLogIn(user: string): boolean;
  /** What belongs to a user beside the name; `groups`: what the system or a provider says that the user is a member of. */
  standing(user: string, groups?: readonly string[]): Pick<Principal, "rights" | "owner" | "account">;
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
  /** Of `--role`; the first that fits a user counts, one with the user's name before one with a group. */
  readonly roles?: readonly RoleRule[];
};

/**
 * The server's own user, the one with the configured password and those of `--admin-user` are admins; all others have the
 * role that `--role` gives them, or else `user`. A server that runs as root lets every user of the system in unless
 * `--allow-user` names some, and runs programs as the user who logged in.
 */
export function usersOf(names: UserNames): Users {
  const { serverUser, isRoot, configuredUser } = names;
  const own = new Set([serverUser, ...(configuredUser === undefined ? [] : [configuredUser])]);
  const allowed = new Set([...own, ...namedUsers(names)]);
  const isOpen = names.allowUsers.includes(ANYBODY) || (isRoot && names.allowUsers.length === 0);
  const accountOf = (owner: string): string | undefined => (isRoot ? owner : undefined);
  return {
    accountOf,
    mayLogIn: (user) => isOpen || allowed.has(user),
    standing: (user, groups = []) => {
      const rights = rightsOf(own.has(user) ? "admin" : roleOf(names, user, groups));
      return own.has(user) ? { rights } : { rights, owner: user, account: accountOf(user) };
    },
  };
}

/** Those whom options name, by which they may log in. */
function namedUsers({ allowUsers, adminUsers, roles = [] }: UserNames): readonly string[] {
  const ofRoles = roles.flatMap((rule) => ("user" in rule && rule.user !== ANYBODY ? [rule.user] : []));
  return [...allowUsers, ...adminUsers, ...ofRoles];
}

function roleOf({ adminUsers, roles = [] }: UserNames, user: string, groups: readonly string[]): Role {
  const ofUser = (name: string): Role | undefined =>
    roles.find((rule) => "user" in rule && rule.user === name)?.role;
  const ofGroup = roles.find((rule) => "group" in rule && groups.includes(rule.group))?.role;
  return ofUser(user) ?? (adminUsers.includes(user) ? "admin" : (ofGroup ?? ofUser(ANYBODY) ?? "user"));
}

/** What `*` covers at no server: on a remote that runs as root, programs of that name are root's. */
const ROOT = "root";

/**
 * The same of those whom a reverse proxy names. A name at somebody else's provider is no user of this system, and may be
 * anybody's own choice: the server's own, the configured pair's and root count only where an option names them.
 */
export function proxiedUsersOf(names: UserNames): Users {
  const { serverUser, configuredUser } = names;
  const users = usersOf(names);
  const named = new Set(namedUsers(names));
  const isOpen = named.has(ANYBODY);
  const reserved: ReadonlySet<string | undefined> = new Set([serverUser, configuredUser, ROOT]);
  return { ...users, mayLogIn: (user) => named.has(user) || (isOpen && !reserved.has(user)) };
}
