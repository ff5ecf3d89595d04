import { z } from "zod";
import { DEFAULT_SHARE_LIFETIME_S, MAX_SHARE_LIFETIME_S, MIN_SHARE_LIFETIME_S } from "../limits.ts";

/** "view": to look. "type": to type and to resize as well. */
export const ShareMode = z.enum(["view", "type"]);
export type ShareMode = z.infer<typeof ShareMode>;

/** The body of POST /api/sessions/:id/share. */
export const CreateShare = z.object({
  mode: ShareMode.default("view"),
  history: z
    .boolean()
    .default(true)
    .describe("whether guests see output from before the link was made; the screen as it is they see anyway"),
  expiresIn: z
    .int()
    .min(MIN_SHARE_LIFETIME_S)
    .max(MAX_SHARE_LIFETIME_S)
    .default(DEFAULT_SHARE_LIFETIME_S)
    .describe("seconds"),
});
export type CreateShare = z.infer<typeof CreateShare>;

/** A link that opens one session to whoever has it, as it is listed: without what opens it. */
export const Share = z.object({
  id: z.string(),
  sessionId: z.string(),
  mode: ShareMode,
  history: z.boolean().default(true),
  createdBy: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
});
export type Share = z.infer<typeof Share>;

/** What is answered once, to whoever made it. `path` goes behind the origin that the page has, unless there is a public address. */
export const NewShare = Share.extend({
  token: z.string().describe("opens the session as an access token does"),
  path: z.string(),
  url: z.string().describe("path, behind the address that the server knows itself by"),
  isPublic: z.literal(true).optional().describe("that address is the one of --public-url"),
});
export type NewShare = z.infer<typeof NewShare>;
