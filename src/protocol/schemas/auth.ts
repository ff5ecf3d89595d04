import { z } from "zod";

/** The body of POST /api/auth/token (contract 5.1). `ticket`: of a one-time login link. */
export const TokenRequest = z.object({
  username: z.string().max(256).optional(),
  password: z.string().max(4096).optional(),
  ticket: z.string().max(256).optional(),
  recoveryCode: z.string().max(64).optional().describe("the second factor, for programs without WebAuthn"),
});

/** Specification 2.4, and the user. */
export const TokenResponse = z.object({
  token: z.string(),
  expiresIn: z.int().describe("seconds"),
  user: z.string(),
});
export type TokenResponse = z.infer<typeof TokenResponse>;

/** The user that a reverse proxy reports (specification 5.4). The name defaults to the login. */
export const ProxyUser = z.object({
  login: z.string(),
  name: z.string(),
  profilePic: z.string().optional(),
});
export type ProxyUser = z.infer<typeof ProxyUser>;

/** Specification 2.5, contract 5.4, and the members that VibeTunnel's page reads behind a proxy (facts 4.1). */
export const AuthConfig = z.object({
  enableSSHKeys: z.boolean(),
  disallowUserPassword: z.boolean().describe("the option of that name"),
  noAuth: z.boolean(),
  passwordMode: z.enum(["system", "configured"]).optional().describe("absent if passwords are disabled"),
  proxyAuth: z.boolean(),
  user: z.string().optional().describe("your user without a login"),
  logoutPath: z.string().optional().describe("logout page of the reverse proxy"),
  proxyUser: ProxyUser.optional().describe("your user according to the reverse proxy"),
  tailscaleAuth: z.literal(true).optional().describe("the same for VibeTunnel's clients"),
  authenticatedUser: z.string().optional(),
  tailscaleUser: ProxyUser.optional(),
});
export type AuthConfig = z.infer<typeof AuthConfig>;

/** A single-use ticket, good for 30 s as the query parameter `token` of /ws (contract 5.5). */
export const WsTicket = z.object({ ticket: z.string(), expiresIn: z.int().describe("seconds") });

/** A page address that logs in once (`ttyhq login-link`). */
export const LoginLink = z.object({ url: z.string(), expiresIn: z.int().describe("seconds") });

/** POST /api/auth/password, VibeTunnel's name (facts 4.1). */
export const PasswordRequest = z.object({ userId: z.string().max(256), password: z.string().max(4096) });
export const PasswordResponse = z.object({
  success: z.literal(true),
  token: z.string(),
  userId: z.string(),
  authMethod: z.literal("password"),
});
export const VerifyResponse = z.object({
  valid: z.literal(true),
  userId: z.string(),
  permissions: z.array(z.string()).describe("permissions of the caller, such as sessions:create"),
});
export const CurrentUser = z.object({ userId: z.string() });

/** POST /api/auth/challenge (contract 5.2), by default for the server's default user. */
export const ChallengeRequest = z.object({ userId: z.string().min(1).max(256).optional() });
/** The challenge is the base64 of 32 bytes; `expiresAt` in milliseconds since 1970. */
export const Challenge = z.object({
  challengeId: z.string(),
  challenge: z.base64(),
  expiresAt: z.int(),
});
export type Challenge = z.infer<typeof Challenge>;

/**
 * POST /api/auth/ssh-login, and /api/auth/ssh-key, the old name (contract 5.2): a line of OpenSSH or the base64 of the
 * wire form; the base64 of 64 bytes of Ed25519, or of an SSH signature.
 */
export const SshLogin = z.object({
  challengeId: z.string().max(128),
  publicKey: z.string().max(16_384),
  signature: z.string().max(16_384),
});
export const SshKeyResponse = PasswordResponse.extend({ authMethod: z.literal("ssh-key") });

/** Of GET /api/auth/avatar/:userId: a login or an e-mail address (facts 4.1). */
export const UserId = z
  .string()
  .max(255, "User ID too long")
  .regex(/^[A-Za-z0-9._@+-]+$/, "Invalid user ID format");
