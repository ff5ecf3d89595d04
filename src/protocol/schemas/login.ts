import { z } from "zod";
import { TokenScope } from "./permission.ts";

/** A login as listed, without its token. Times are ISO 8601. */
export const LoginRecord = z.object({
  id: z.string(),
  user: z.string(),
  method: z.string().describe("the way of the login, such as password or ssh-key"),
  createdAt: z.string(),
  lastUsedAt: z.string().describe("updated at most once a minute"),
  expiresAt: z.string(),
  address: z.string().optional().describe("the address of the login"),
  client: z.string().optional().describe("the User-Agent of the login, cut to 256 characters"),
  current: z.boolean().describe("whether it is the login of this request"),
});
export type LoginRecord = z.infer<typeof LoginRecord>;

export const ApiTokenName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "1 to 64 letters, digits, dots, dashes and underscores");

/** An API token as listed, without the token itself. Times are ISO 8601. */
export const ApiTokenRecord = z.object({
  id: z.string(),
  name: ApiTokenName,
  user: z.string(),
  scope: z.array(TokenScope),
  createdAt: z.string(),
  lastUsedAt: z.string().optional().describe("updated at most once a minute; absent: not used yet"),
  expiresAt: z.string(),
  address: z.string().optional().describe("the address of its creation"),
  client: z.string().optional().describe("the User-Agent of its creation"),
});
export type ApiTokenRecord = z.infer<typeof ApiTokenRecord>;

export const NewApiToken = ApiTokenRecord.extend({ token: z.string() });
export type NewApiToken = z.infer<typeof NewApiToken>;
