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
import { ApiTokenRecord, CreateApiToken, LoginRecord, NewApiToken } from "../schemas/login.ts";
import { LoginAnswers } from "../schemas/login-question.ts";
import {
  CreateEnrolmentCode,
  EnrolmentCode,
  NewPasskey,
  PasskeyList,
  PasskeyMade,
  PasskeyOptions,
  RecoveryCodes,
  SecondFactorProof,
  SecondFactorResponse,
} from "../schemas/passkey.ts";
import { endpointsWith, json, media, Success } from "./endpoint.ts";

const user = endpointsWith({ tag: "auth", need: "account:use" });
const open = endpointsWith({ tag: "auth", need: "open" });
const password = endpointsWith({
  ...{ tag: "auth", need: "open" },
  errors: [
    "invalid_credentials",
    "login_question",
    "second_factor_required",
    "password_disabled",
    "rate_limited",
  ],
});
const sshKey = endpointsWith({
  ...{ tag: "auth", need: "open", body: SshLogin },
  errors: ["invalid_credentials", "ssh_keys_disabled", "rate_limited"],
});

/** The caller's own entries, or with `all=1` those of all users. */
const Whose = z.object({ all: z.enum(["0", "1"]).default("0").describe("1: of all users, for admins") });

const loginEndpoints = {
  createToken: password.post("/api/auth/token", "Log in", { body: TokenRequest, reply: json(TokenResponse) }),
  answerLogin: open.post(
    "/api/auth/answers",
    "Answer the questions that the system asks besides a password",
    {
      body: LoginAnswers,
      reply: json(TokenResponse),
      errors: [
        "invalid_credentials",
        "unauthorized",
        "rate_limited",
        "login_question",
        "second_factor_required",
      ],
    },
  ),
  authConfig: open.get("/api/auth/config", "The available ways to log in", { reply: json(AuthConfig) }),
  createWsTicket: user.post("/api/auth/ws-ticket", "A single-use ticket for /ws", {
    need: "login",
    reply: json(WsTicket),
  }),
  createLoginLink: user.post("/api/auth/login-link", "A single-use login link; only on the unix socket", {
    reply: json(LoginLink),
    errors: ["forbidden"],
  }),
  passwordLogin: password.post("/api/auth/password", "Log in (for VibeTunnel's clients)", {
    body: PasswordRequest,
    reply: json(PasswordResponse),
  }),
  createChallenge: open.post("/api/auth/challenge", "A challenge to sign with an SSH key", {
    body: ChallengeRequest,
    reply: json(Challenge),
    errors: ["ssh_keys_disabled"],
  }),
  sshLogin: sshKey.post("/api/auth/ssh-login", "Log in with a signed challenge", {
    reply: json(TokenResponse),
  }),
  sshKeyLogin: sshKey.post("/api/auth/ssh-key", "Log in with a signed challenge (for VibeTunnel's clients)", {
    reply: json(SshKeyResponse),
  }),
  avatar: open.get("/api/auth/avatar/:userId", "The picture of a user; as JSON if only that is accepted", {
    // The route refuses an invalid id with the message that VibeTunnel's clients expect.
    params: z.object({ userId: z.string() }),
    reply: media("image/svg+xml", "an SVG, or a JPEG on macOS"),
  }),
  verifyToken: user.get("/api/auth/verify", "Whether the token is valid", {
    need: "login",
    reply: json(VerifyResponse),
  }),
  currentUser: open.get("/api/auth/current-user", "The default user: the configured one, or the server's", {
    reply: json(CurrentUser),
  }),
  logout: user.post("/api/auth/logout", "Revoke the token", {
    reply: json(Success.extend({ message: z.string() })),
  }),
};

/** Logins and API tokens, one by one. */
const tokenEndpoints = {
  createApiToken: user.post("/api/auth/tokens", "A token with a scope, for programs", {
    body: CreateApiToken,
    reply: json(NewApiToken, 201),
    errors: ["forbidden", "token_name_taken", "too_many_tokens"],
  }),
  listApiTokens: user.get("/api/auth/tokens", "Your valid API tokens", {
    query: Whose,
    reply: json(z.array(ApiTokenRecord)),
    errors: ["forbidden"],
  }),
  revokeApiToken: user.delete(
    "/api/auth/tokens/:tokenId",
    "End an API token and, within 1 s, its connections",
    {
      params: z.object({ tokenId: z.string().max(128) }),
      reply: json(Success.extend({ user: z.string() })),
      errors: ["token_not_found"],
    },
  ),
  listLogins: user.get("/api/auth/logins", "Your logins", {
    query: Whose,
    reply: json(z.array(LoginRecord)),
    errors: ["forbidden"],
  }),
  endLogin: user.delete("/api/auth/logins/:loginId", "End a login and, within 1 s, its connections", {
    params: z.object({ loginId: z.string().max(128) }),
    reply: json(Success.extend({ user: z.string() })),
    errors: ["login_not_found"],
  }),
};

const passkeyEndpoints = {
  secondFactor: open.post("/api/auth/second-factor", "Complete a login with a second factor", {
    body: SecondFactorProof,
    reply: json(SecondFactorResponse),
    errors: ["invalid_credentials", "unauthorized", "rate_limited"],
  }),
  listPasskeys: user.get("/api/auth/passkeys", "Your passkeys", {
    reply: json(PasskeyList),
    errors: ["forbidden"],
  }),
  passkeyOptions: user.post("/api/auth/passkeys/options", "Options for a browser that creates a passkey", {
    reply: json(PasskeyOptions),
    errors: ["forbidden", "invalid_request"],
  }),
  createPasskey: user.post("/api/auth/passkeys", "Add a passkey; the first one comes with recovery codes", {
    body: NewPasskey,
    reply: json(PasskeyMade, 201),
    errors: ["forbidden", "invalid_credentials", "unauthorized", "too_many_passkeys"],
  }),
  removePasskey: user.delete("/api/auth/passkeys/:passkeyId", "Remove a passkey", {
    params: z.object({ passkeyId: z.string() }),
    reply: json(Success),
    errors: ["forbidden", "passkey_not_found"],
  }),
  createRecoveryCodes: user.post("/api/auth/recovery-codes", "New recovery codes, in place of the old ones", {
    reply: json(RecoveryCodes),
    errors: ["forbidden", "passkey_not_found"],
  }),
  createEnrolmentCode: user.post(
    "/api/auth/enrolment-codes",
    "A code for a user's first passkey, at a login",
    {
      need: "accounts:manage",
      body: CreateEnrolmentCode,
      reply: json(EnrolmentCode, 201),
      errors: ["forbidden", "invalid_request"],
    },
  ),
};

export const authEndpoints = { ...loginEndpoints, ...tokenEndpoints, ...passkeyEndpoints };
