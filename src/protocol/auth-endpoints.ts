import { z } from "zod";
import {
  AuthConfig,
  CurrentUser,
  LoginLink,
  PasswordRequest,
  PasswordResponse,
  TokenRequest,
  TokenResponse,
  VerifyResponse,
  WsTicket,
} from "./auth.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const openAuth = { tag: "auth", access: "open", limit: "api", host: false } as const;
const userAuth = { tag: "auth", access: "user", limit: "api", host: false } as const;

export const authEndpoints = {
  createToken: {
    ...openAuth,
    method: "post",
    path: "/api/auth/token",
    summary: "Log in",
    body: TokenRequest,
    reply: { status: 200, json: TokenResponse },
    errors: ["invalid_credentials", "password_disabled", "rate_limited"],
  },
  authConfig: {
    ...openAuth,
    method: "get",
    path: "/api/auth/config",
    summary: "Which ways to log in there are",
    reply: { status: 200, json: AuthConfig },
    errors: [],
  },
  createWsTicket: {
    ...userAuth,
    method: "post",
    path: "/api/auth/ws-ticket",
    summary: "A single-use ticket for /ws",
    reply: { status: 200, json: WsTicket },
    errors: [],
  },
  createLoginLink: {
    ...userAuth,
    method: "post",
    path: "/api/auth/login-link",
    summary: "A link that logs in once, for whoever comes through the server's own unix socket",
    reply: { status: 200, json: LoginLink },
    errors: ["forbidden"],
  },
  passwordLogin: {
    ...openAuth,
    method: "post",
    path: "/api/auth/password",
    summary: "Log in (the old name)",
    body: PasswordRequest,
    reply: { status: 200, json: PasswordResponse },
    errors: ["invalid_credentials", "password_disabled", "rate_limited"],
  },
  verifyToken: {
    ...userAuth,
    method: "get",
    path: "/api/auth/verify",
    summary: "Whether the token is good",
    reply: { status: 200, json: VerifyResponse },
    errors: [],
  },
  currentUser: {
    ...openAuth,
    method: "get",
    path: "/api/auth/current-user",
    summary: "The user that the server runs as",
    reply: { status: 200, json: CurrentUser },
    errors: [],
  },
  logout: {
    ...userAuth,
    method: "post",
    path: "/api/auth/logout",
    summary: "Revoke the token",
    reply: { status: 200, json: Success.extend({ message: z.string() }) },
    errors: [],
  },
} as const satisfies Record<string, Endpoint>;
