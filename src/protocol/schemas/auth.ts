import { z } from "zod";

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

/** The challenge is the base64 of 32 bytes; `expiresAt` in milliseconds since 1970. */
export const Challenge = z.object({
  challengeId: z.string(),
  challenge: z.base64(),
  expiresAt: z.int(),
});
export type Challenge = z.infer<typeof Challenge>;

/** Of GET /api/auth/avatar/:userId: a login or an e-mail address (facts 4.1). */
export const UserId = z
  .string()
  .max(255, "User ID too long")
  .regex(/^[A-Za-z0-9._@+-]+$/, "Invalid user ID format");
