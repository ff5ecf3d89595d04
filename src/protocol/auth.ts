import { z } from "zod";

/** The body of POST /api/auth/token (contract 5.1); `ticket` is that of a one-time login link. */
export const TokenRequest = z.object({
  username: z.string().max(256).optional(),
  password: z.string().max(4096).optional(),
  ticket: z.string().max(256).optional(),
});

/** Specification 2.4 and the user who is now logged in. */
export const TokenResponse = z.object({
  token: z.string(),
  expiresIn: z.int().describe("seconds"),
  user: z.string(),
});
export type TokenResponse = z.infer<typeof TokenResponse>;

/** Specification 2.5, contract 5.4. */
export const AuthConfig = z.object({
  enableSSHKeys: z.boolean(),
  disallowUserPassword: z.boolean(),
  noAuth: z.boolean(),
  passwordMode: z.enum(["system", "configured"]).optional(),
  proxyAuth: z.boolean(),
  user: z.string().optional().describe("who the server takes you for without any login"),
});
export type AuthConfig = z.infer<typeof AuthConfig>;

/** A single-use ticket, good for 30 s as the query parameter `token` of /ws (contract 5.5). */
export const WsTicket = z.object({ ticket: z.string(), expiresIn: z.int().describe("seconds") });
export type WsTicket = z.infer<typeof WsTicket>;

/** A page address that logs in once (`ttyhq login-link`). */
export const LoginLink = z.object({ url: z.string(), expiresIn: z.int().describe("seconds") });
export type LoginLink = z.infer<typeof LoginLink>;

/** POST /api/auth/password, the old name (facts 4.1). */
export const PasswordRequest = z.object({ userId: z.string().max(256), password: z.string().max(4096) });
export const PasswordResponse = z.object({
  success: z.literal(true),
  token: z.string(),
  userId: z.string(),
  authMethod: z.literal("password"),
});
export const VerifyResponse = z.object({ valid: z.literal(true), userId: z.string() });
export const CurrentUser = z.object({ userId: z.string() });
