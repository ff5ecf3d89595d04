import type { Principal } from "../../auth/principal.ts";
import { permits, refusalOf } from "../../auth/roles.ts";
import type { KeptLogin, LoginRecords } from "../../auth/tokens/login-records.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { LoginRecord } from "../../protocol/login.ts";
import type { Context, Routes } from "../route.ts";

/** Has no logins: no user is called that. */
const NOBODY = "";

/** Logins, listed and ended one by one: one's own, and of an admin everybody's. */
export function loginRoutes({ logins }: { readonly logins: LoginRecords }): Routes {
  return {
    listLogins: async ({ query }, { principal }) => {
      const listed = query.all === "1" ? everybodys(principal, logins) : ownOf(principal, logins);
      return listed.map((login) => shown(login, principal));
    },
    endLogin: async ({ params }, { principal }) => {
      const isManager = principal !== undefined && permits(principal.rights, "accounts:manage");
      const user = await logins.end(params.loginId, isManager ? undefined : loggedInUser(principal));
      return { success: true, user };
    },
  };
}

function everybodys(principal: Context["principal"], logins: LoginRecords): readonly KeptLogin[] {
  if (principal !== undefined && permits(principal.rights, "accounts:manage")) return logins.list();
  throw new ServiceError("forbidden", principal ? refusalOf(principal.rights, "accounts:manage") : "");
}

function ownOf(principal: Context["principal"], logins: LoginRecords): readonly KeptLogin[] {
  return logins.list(loggedInUser(principal));
}

/**
 * A name that a proxy vouches for may be another person than the one who logs in here under it: such a caller has no
 * logins here.
 */
function loggedInUser(principal: Context["principal"]): string {
  const { method, user } = principal ?? {};
  return (method === "token" || method === "socket") && user !== undefined ? user : NOBODY;
}

function shown({ id, expiresAtS, ...login }: KeptLogin, principal: Principal | undefined): LoginRecord {
  const expiresAt = new Date(expiresAtS * 1000).toISOString();
  return { id, ...login, expiresAt, current: id === principal?.tokenId };
}
