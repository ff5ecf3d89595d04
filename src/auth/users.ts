import type { Role, RoleRule } from "../protocol/schemas/permission.ts";
import type { Principal } from "./principal.ts";
import { type RoleRights, rightsOf } from "./roles.ts";

/** In `--allow-user` and `--role`: every authenticated user. */
const ANYBODY = "*";
/** Not covered by `*`: on a remote that runs as root, programs of that name would be root's. */
const ROOT = "root";

/** Decides whether a user may log in, and with which rights (contract 5.7). */
export type Users = {
  /**
   * Also checked for tokens, which outlive the options under which they were issued. A name from a reverse proxy is no
   * system user and may be chosen freely: the server's user, the configured user and root need an option that names them.
   */
  mayLogIn(user: string, through?: "login" | "proxy"): boolean;
  /** `groups`: as the system or a provider reports them. */
  standing(user: string, groups?: readonly string[]): Standing;
  /**
   * The system user that runs the owner's programs; `undefined`: the server's. An owner is never the server itself,
   * whatever the name of an HQ's user.
   */
  accountOf(owner: string): string | undefined;
  /** Whether the user is the server itself: its system user or the configured user. */
  isOwn(user: string): boolean;
  /** The name of the server itself among its users, and of logins without one: the configured user, or its system user. */
  readonly own: string;
};

type Standing = Pick<Principal, "owner" | "account"> & { readonly rights: RoleRights };

export type UserNames = {
  readonly serverUser: string;
  readonly isRoot: boolean;
  readonly configuredUser: string | undefined;
  readonly allowUsers: readonly string[];
  readonly adminUsers: readonly string[];
  /** Of `--role`; the first match counts, users before groups. */
  readonly roles: readonly RoleRule[];
  /** Another proxy on this machine may name the configured user; a provider's user of that name is somebody else. */
  readonly identity: "own-proxy" | "local-proxy" | undefined;
};

/**
 * The server's user, the configured user and those of `--admin-user` are admins; others have their `--role`, by
 * default `user`. A server that runs as root admits every system user unless `--allow-user` names some, and runs
 * programs as the user who logged in.
 */
export function usersOf(names: UserNames): Users {
  const { serverUser, isRoot, configuredUser, allowUsers, adminUsers, roles, identity } = names;
  const isOwn = (user: string): boolean => user === serverUser || user === configuredUser;
  const ofRoles = roles.flatMap((rule) => ("user" in rule && rule.user !== ANYBODY ? [rule.user] : []));
  const named = new Set([...allowUsers, ...adminUsers, ...ofRoles]);
  const isOpen = allowUsers.includes(ANYBODY) || (isRoot && allowUsers.length === 0);
  const isVouchedFor = (user: string): boolean => identity === "local-proxy" && user === configuredUser;
  const accountOf = (owner: string): string | undefined => (isRoot ? owner : undefined);
  return {
    isOwn,
    own: configuredUser ?? serverUser,
    accountOf,
    mayLogIn: (user, through = "login") => {
      if (through === "login") return isOpen || isOwn(user) || named.has(user);
      const isReserved = isOwn(user) || user === ROOT;
      return named.has(user) || isVouchedFor(user) || (named.has(ANYBODY) && !isReserved);
    },
    standing: (user, groups = []) =>
      isOwn(user)
        ? { rights: rightsOf("admin") }
        : { rights: rightsOf(roleOf(names, user, groups)), owner: user, account: accountOf(user) },
  };
}

function roleOf({ adminUsers, roles }: UserNames, user: string, groups: readonly string[]): Role {
  const ofUser = (name: string): Role | undefined =>
    roles.find((rule) => "user" in rule && rule.user === name)?.role;
  const ofGroup = roles.find((rule) => "group" in rule && groups.includes(rule.group))?.role;
  return ofUser(user) ?? (adminUsers.includes(user) ? "admin" : (ofGroup ?? ofUser(ANYBODY) ?? "user"));
}
