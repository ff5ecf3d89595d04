import { z } from "zod";
import { MAX_API_TOKEN_LIFETIME_S } from "../limits.ts";
import { AuthConfig, Challenge, TokenResponse } from "../schemas/auth.ts";
import { ApiTokenName, ApiTokenRecord, LoginRecord, NewApiToken } from "../schemas/login.ts";
import { LoginAnswers } from "../schemas/login-question.ts";
import {
  CredentialOptions,
  NewCredential,
  PasskeyList,
  PasskeyMade,
  RecoveryCodes,
  SecondFactorProof,
  SecondFactorResponse,
} from "../schemas/passkey.ts";
import { TokenScope } from "../schemas/permission.ts";
import { endpointsWith, json, media, Success } from "./endpoint.ts";

const LOGIN_ERRORS = [
  "invalid_credentials",
  "login_question",
  "second_factor_required",
  "rate_limited",
] as const;
const user = endpointsWith({ tag: "auth", need: "account:use" });
const open = endpointsWith({ tag: "auth", need: "open" });
const password = endpointsWith({
  ...{ tag: "auth", need: "open" },
  errors: [...LOGIN_ERRORS, "password_disabled"],
});
/** The key: a line of OpenSSH, or its wire form in base64. The signature: in base64, 64 bytes of Ed25519 or as SSH has it. */
const sshKey = endpointsWith({
  ...{ tag: "auth", need: "open" },
  body: z.object({
    challengeId: z.string().max(128),
    publicKey: z.string().max(16_384),
    signature: z.string().max(16_384),
  }),
  errors: ["invalid_credentials", "ssh_keys_disabled", "rate_limited"],
});
const Seconds = z.int().describe("seconds");

function loginReply<M extends string>(authMethod: M) {
  return Success.extend({ token: z.string(), userId: z.string(), authMethod: z.literal(authMethod) });
}

/** The caller's own entries, or with `all=1` those of all users. */
const Whose = z.object({ all: z.enum(["0", "1"]).default("0").describe("1: of all users, for admins") });

const loginEndpoints = {
  createToken: password.post("/api/auth/token", "Log in", {
    body: z.object({
      username: z.string().max(256).optional(),
      password: z.string().max(4096).optional(),
      ticket: z.string().max(256).optional(),
      recoveryCode: z
        .string()
        .max(64)
        .optional()
        .describe("the second factor, for programs without WebAuthn"),
    }),
    reply: json(TokenResponse),
  }),
  answerLogin: open.post(
    "/api/auth/answers",
    "Answer the questions that the system asks besides a password",
    {
      body: LoginAnswers,
      reply: json(TokenResponse),
      errors: [...LOGIN_ERRORS, "unauthorized"],
    },
  ),
  authConfig: open.get("/api/auth/config", "The available ways to log in", { reply: json(AuthConfig) }),
  createWsTicket: user.post("/api/auth/ws-ticket", "A single-use ticket for /ws", {
    need: "login",
    reply: json(z.object({ ticket: z.string(), expiresIn: Seconds })),
  }),
  createLoginLink: user.post("/api/auth/login-link", "A single-use login link; only on the unix socket", {
    reply: json(z.object({ url: z.string(), expiresIn: Seconds })),
    errors: ["forbidden"],
  }),
  passwordLogin: password.post("/api/auth/password", "Log in (for VibeTunnel's clients)", {
    body: z.object({ userId: z.string().max(256), password: z.string().max(4096) }),
    reply: json(loginReply("password")),
  }),
  createChallenge: open.post("/api/auth/challenge", "A challenge to sign with an SSH key", {
    body: z.object({ userId: z.string().min(1).max(256).optional() }),
    reply: json(Challenge),
    errors: ["ssh_keys_disabled"],
  }),
  sshLogin: sshKey.post("/api/auth/ssh-login", "Log in with a signed challenge", {
    reply: json(TokenResponse),
  }),
  sshKeyLogin: sshKey.post("/api/auth/ssh-key", "Log in with a signed challenge (for VibeTunnel's clients)", {
    reply: json(loginReply("ssh-key")),
  }),
  avatar: open.get("/api/auth/avatar/:userId", "The picture of a user; as JSON if only that is accepted", {
    // The route refuses an invalid id with the message that VibeTunnel's clients expect.
    params: z.object({ userId: z.string() }),
    reply: media("image/svg+xml", "an SVG, or a JPEG on macOS"),
  }),
  verifyToken: user.get("/api/auth/verify", "Whether the token is valid", {
    need: "login",
    reply: json(
      z.object({
        valid: z.literal(true),
        userId: z.string(),
        permissions: z.array(z.string()).describe("permissions of the caller, such as sessions:create"),
      }),
    ),
  }),
  currentUser: open.get("/api/auth/current-user", "The default user: the configured one, or the server's", {
    reply: json(z.object({ userId: z.string() })),
  }),
  logout: user.post("/api/auth/logout", "Revoke the token", {
    reply: json(Success.extend({ message: z.string() })),
  }),
};

/** A share link may allow to view and type, so creating one requires both permissions. */
const Scope = z
  .array(TokenScope)
  .min(1)
  .refine(
    (scope) =>
      !scope.includes("sessions:manage") ||
      (scope.includes("sessions:view") && scope.includes("sessions:control")),
    "sessions:manage makes share links, and takes sessions:view and sessions:control as well",
  );

/** Logins and API tokens, one by one. */
const tokenEndpoints = {
  createApiToken: user.post("/api/auth/tokens", "A token with a scope, for programs", {
    body: z.object({
      name: ApiTokenName,
      scope: Scope,
      expiresIn: z.int().min(1).max(MAX_API_TOKEN_LIFETIME_S).describe("seconds"),
    }),
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
    reply: json(z.object({ challengeId: z.string(), registration: CredentialOptions })),
    errors: ["forbidden", "invalid_request"],
  }),
  createPasskey: user.post("/api/auth/passkeys", "Add a passkey; the first one comes with recovery codes", {
    body: z.object({
      challengeId: z.string().max(128),
      name: z.string().trim().min(1).max(64),
      registration: NewCredential,
    }),
    reply: json(PasskeyMade, 201),
    errors: ["forbidden", "invalid_credentials", "unauthorized", "too_many_passkeys"],
  }),
  removePasskey: user.delete("/api/auth/passkeys/:passkeyId", "Remove a passkey", {
    params: z.object({ passkeyId: z.string() }),
    reply: json(Success),
    errors: ["forbidden", "passkey_not_found"],
  }),
  createRecoveryCodes: user.post("/api/auth/recovery-codes", "New recovery codes, in place of the old ones", {
    reply: json(z.object({ recoveryCodes: RecoveryCodes })),
    errors: ["forbidden", "passkey_not_found"],
  }),
  createEnrolmentCode: user.post(
    "/api/auth/enrolment-codes",
    "A code for a user's first passkey, at a login",
    {
      need: "accounts:manage",
      body: z.object({ user: z.string().min(1).max(256) }),
      reply: json(
        z.object({
          code: z.string().describe("valid once, together with the password; not shown again"),
          expiresIn: Seconds,
        }),
        201,
      ),
      errors: ["forbidden", "invalid_request"],
    },
  ),
};

export const authEndpoints = { ...loginEndpoints, ...tokenEndpoints, ...passkeyEndpoints };
