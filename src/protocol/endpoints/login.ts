import { z } from "zod";
import { ApiTokenRecord, CreateApiToken, LoginRecord, NewApiToken } from "../schemas/login.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const own = { tag: "auth", access: "user", limit: "api", host: false } as const;

/** Whose entries: one's own, or with `all=1` everybody's. */
const Whose = z.object({ all: z.enum(["0", "1"]).default("0").describe("1: everybody's, for admins") });

/** Logins and API tokens, one by one. */
export const loginEndpoints = {
  createApiToken: {
    ...own,
    method: "post",
    path: "/api/auth/tokens",
    summary: "A token with a scope, for programs",
    body: CreateApiToken,
    reply: { status: 201, json: NewApiToken },
    errors: ["forbidden", "token_name_taken", "too_many_tokens"],
  },
  listApiTokens: {
    ...own,
    method: "get",
    path: "/api/auth/tokens",
    summary: "Your API tokens that work",
    query: Whose,
    reply: { status: 200, json: z.array(ApiTokenRecord) },
    errors: ["forbidden"],
  },
  revokeApiToken: {
    ...own,
    method: "delete",
    path: "/api/auth/tokens/:tokenId",
    summary: "End an API token: what it has open is closed within a second",
    params: z.object({ tokenId: z.string().max(128) }),
    reply: { status: 200, json: Success.extend({ user: z.string() }) },
    errors: ["token_not_found"],
  },
  listLogins: {
    ...own,
    method: "get",
    path: "/api/auth/logins",
    summary: "Your logins",
    query: Whose,
    reply: { status: 200, json: z.array(LoginRecord) },
    errors: ["forbidden"],
  },
  endLogin: {
    ...own,
    method: "delete",
    path: "/api/auth/logins/:loginId",
    summary: "End a login: what it has open is closed within a second",
    params: z.object({ loginId: z.string().max(128) }),
    reply: { status: 200, json: Success.extend({ user: z.string() }) },
    errors: ["login_not_found"],
  },
} as const satisfies Record<string, Endpoint>;
