import type { Role, RoleRule } from "../protocol/schemas/role.ts";
import type { Principal } from "./principal.ts";
import { rightsOf } from "./roles.ts";

/** `--allow-user` for every authenticated user. */
const ANYBODY = "*";

/** The users who may log in, and their rights (contract 5.7). */
export type Users = {
  /** Also checked for tokens, which outlive the options under which they were issued. */
  mayLogIn(user: string): boolean;
  /** `groups`: as the system or a provider reports them. */
  standing(user: string, groups?: readonly string[]): Pick<Principal, "rights" | "owner" | "account">;
  /**
   * The system user that runs the owner's programs; `undefined`: the server's. An owner is never the server itself,
   * whatever the name of an HQ's user.
   */
  accountOf(owner: string): string | undefined;
};

export type UserNames = {
  readonly serverUser: string;
  readonly isRoot: boolean;
  readonly configuredUser: string | undefined;
  readonly allowUsers: readonly string[];
  readonly adminUsers: readonly string[];
  /** Of `--role`; the first match counts, users before groups. */
  readonly roles?: readonly RoleRule[];
};

/**
 * The server's user, the configured user and those of `--admin-user` are admins; others have their `--role`, by
 * default `user`. A server that runs as root admits every system user unless `--allow-user` names some, and runs
 * programs as the user who logged in.
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

/** Users whom options name may log in. */
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

/** Not covered by `*`: on a remote that runs as root, programs of that name would be root's. */
const ROOT = "root";

/**
 * The same for users whom a reverse proxy names. A name at an external provider is no system user and may be chosen
 * freely: the server's user, the configured user and root count only if an option names them.
 */
export function proxiedUsersOf(names: UserNames): Users {
  const { serverUser, configuredUser } = names;
  const users = usersOf(names);
  const named = new Set(namedUsers(names));
  const isOpen = named.has(ANYBODY);
  const reserved: ReadonlySet<string | undefined> = new Set([serverUser, configuredUser, ROOT]);
  return { ...users, mayLogIn: (user) => named.has(user) || (isOpen && !reserved.has(user)) };
}
