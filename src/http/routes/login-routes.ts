import type { Gate } from "../../auth/gate.ts";
import type { Principal } from "../../auth/principal.ts";
import { permits, requirePermission } from "../../auth/roles.ts";
import type { KeptLogin, KeptToken } from "../../auth/tokens/login-records.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { ApiTokenRecord, LoginRecord } from "../../protocol/schemas/login.ts";
import type { Context, Routes } from "../route.ts";

/** No user has this name. */
const NOBODY = "";

/** Listing and ending logins and API tokens: one's own, for admins everybody's. */
export function loginRoutes(gate: Pick<Gate, "loginRecords" | "tokens" | "config">): Routes {
  const { loginRecords: logins, tokens, config } = gate;
  return {
    listLogins: async ({ query }, context) =>
      logins.list(listedUser(query, context)).map((login) => shown(login, context.principal)),
    endLogin: async ({ params }, context) => {
      const user = await logins.end("login", params.loginId, endingUser(context));
      return { success: true, user };
    },
    createApiToken: async ({ body: { name, scope, expiresIn } }, context) => {
      const user = loggedInUser(context);
      if (config.noAuth || user === NOBODY) {
        throw new ServiceError("forbidden", "log in with a password, a key or a link to create API tokens");
      }
      const { method, rights } = context.principal;
      for (const permission of scope) requirePermission(rights, permission);
      const login = { user, method, address: context.address, client: context.client };
      const { token, kept } = await tokens.issueApiToken(expiresIn, { ...login, name, scope });
      return { ...shownToken(kept), token };
    },
    listApiTokens: async ({ query }, context) => logins.tokens(listedUser(query, context)).map(shownToken),
    revokeApiToken: async ({ params }, context) => {
      const user = await logins.end("token", params.tokenId, endingUser(context));
      return { success: true, user };
    },
  };
}

function listedUser({ all }: { readonly all: "0" | "1" }, context: Context): string | undefined {
  if (all === "0") return loggedInUser(context);
  requirePermission(context.principal.rights, "accounts:manage");
  return undefined;
}

function endingUser(context: Context): string | undefined {
  const { principal } = context;
  const isManager = permits(principal.rights, "accounts:manage");
  return isManager ? undefined : loggedInUser(context);
}

/** A proxied user may be another person than the local user of that name, and therefore has no logins here. */
function loggedInUser({ principal }: Context): string {
  if (principal.method === "token" || principal.method === "socket") return principal.user;
  return NOBODY;
}

function shown({ expiresAtS, lastUsedAt, ...login }: KeptLogin, principal: Principal): LoginRecord {
  const times = { lastUsedAt: lastUsedAt ?? login.createdAt, expiresAt: iso(expiresAtS) };
  return { ...login, ...times, current: login.id === principal.tokenId };
}

function shownToken({ method: _, expiresAtS, ...token }: KeptToken): ApiTokenRecord {
  return { ...token, expiresAt: iso(expiresAtS) };
}

function iso(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
