import { z } from "zod";
import { DEFAULT_SHARE_LIFETIME_S, MAX_SHARE_LIFETIME_S, MIN_SHARE_LIFETIME_S } from "../limits.ts";

/** "view": read only. "type": also input. */
export const ShareMode = z.enum(["view", "type"]);
export type ShareMode = z.infer<typeof ShareMode>;

/** The body of POST /api/sessions/:id/share. */
export const CreateShare = z.object({
  mode: ShareMode.default("view"),
  resize: z.boolean().default(false).describe("whether guests who may type may also resize the terminal"),
  history: z
    .boolean()
    .default(true)
    .describe("whether guests see output from before the link; they see the current screen in any case"),
  expiresIn: z
    .int()
    .min(MIN_SHARE_LIFETIME_S)
    .max(MAX_SHARE_LIFETIME_S)
    .default(DEFAULT_SHARE_LIFETIME_S)
    .describe("seconds"),
});
export type CreateShare = z.infer<typeof CreateShare>;

/** A share link as listed, without its token. */
export const Share = z.object({
  id: z.string(),
  sessionId: z.string(),
  mode: ShareMode,
  resize: z.boolean().default(false),
  history: z.boolean().default(true),
  createdBy: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
});
export type Share = z.infer<typeof Share>;

/** A new share link, shown once. `path` is relative to the page's origin. */
export const NewShare = Share.extend({
  token: z.string().describe("gives access to the session, like an access token"),
  path: z.string(),
  url: z.string().describe("path, after the server's address"),
  isPublic: z.literal(true).optional().describe("the address is that of --public-url"),
});
export type NewShare = z.infer<typeof NewShare>;
