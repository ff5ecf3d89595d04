import { z } from "zod";
import {
  AuthConfig,
  Challenge,
  ChallengeRequest,
  CurrentUser,
  LoginLink,
  PasswordRequest,
  PasswordResponse,
  SshKeyResponse,
  SshLogin,
  TokenRequest,
  TokenResponse,
  VerifyResponse,
  WsTicket,
} from "../schemas/auth.ts";
import { LoginAnswers } from "../schemas/login-question.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const openAuth = { tag: "auth", access: "open", limit: "api", host: false } as const;
const userAuth = { tag: "auth", access: "user", limit: "api", host: false } as const;

const PASSWORD_ERRORS = [
  "invalid_credentials",
  "login_question",
  "second_factor_required",
  "password_disabled",
  "rate_limited",
] as const;

export const authEndpoints = {
  createToken: {
    ...openAuth,
    method: "post",
    path: "/api/auth/token",
    summary: "Log in",
    body: TokenRequest,
    reply: { status: 200, json: TokenResponse },
    errors: PASSWORD_ERRORS,
  },
  answerLogin: {
    ...openAuth,
    method: "post",
    path: "/api/auth/answers",
    summary: "Go on with a login in which the system asks for more than a password",
    body: LoginAnswers,
    reply: { status: 200, json: TokenResponse },
    errors: [
      ...["invalid_credentials", "unauthorized", "rate_limited"],
      ...["login_question", "second_factor_required"],
    ],
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
    errors: PASSWORD_ERRORS,
  },
  createChallenge: {
    ...openAuth,
    method: "post",
    path: "/api/auth/challenge",
    summary: "Something to sign with an SSH key",
    body: ChallengeRequest,
    reply: { status: 200, json: Challenge },
    errors: ["ssh_keys_disabled"],
  },
  sshLogin: {
    ...openAuth,
    method: "post",
    path: "/api/auth/ssh-login",
    summary: "Log in with a signed challenge",
    body: SshLogin,
    reply: { status: 200, json: TokenResponse },
    errors: ["invalid_credentials", "ssh_keys_disabled", "rate_limited"],
  },
  sshKeyLogin: {
    ...openAuth,
    method: "post",
    path: "/api/auth/ssh-key",
    summary: "Log in with a signed challenge (the old name)",
    body: SshLogin,
    reply: { status: 200, json: SshKeyResponse },
    errors: ["invalid_credentials", "ssh_keys_disabled", "rate_limited"],
  },
  avatar: {
    ...openAuth,
    method: "get",
    path: "/api/auth/avatar/:userId",
    summary: "The picture of a user; as JSON where that is what is accepted",
    // What is no UserId is refused by the route, in the words that old clients know.
    params: z.object({ userId: z.string() }),
    reply: { status: 200, media: "image/svg+xml", description: "an SVG, or a JPEG on macOS" },
    errors: [],
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
    summary: "Who logs in without a name: the configured user, else the one that the server runs as",
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
