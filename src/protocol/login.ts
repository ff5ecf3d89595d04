import { z } from "zod";

/** A login as it is listed: never its token. Times are ISO 8601. */
export const LoginRecord = z.object({
  id: z.string(),
  user: z.string(),
  method: z.string().describe("how they logged in, such as password or ssh-key"),
  createdAt: z.string(),
  lastUsedAt: z.string().describe("written once a minute at most"),
  expiresAt: z.string(),
  address: z.string().optional().describe("where the login came from"),
  client: z.string().optional().describe("the User-Agent of the login, cut to 256 characters"),
  current: z.boolean().describe("whether it is the one that asks"),
});
export type LoginRecord = z.infer<typeof LoginRecord>;
