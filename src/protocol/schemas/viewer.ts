import { z } from "zod";

/** "hq": the connection of an HQ, for all who watch there; "api": a program with an API token. */
export const ViewerKind = z.enum(["login", "guest", "api", "hq"]);
export type ViewerKind = z.infer<typeof ViewerKind>;

/** One connection that watches a session, at the server that it is connected to. */
export const SessionViewer = z.object({
  name: z.string().describe("the user's name; of a guest the name that the guest gave, marked as a guest's"),
  kind: ViewerKind,
  mayType: z.boolean(),
  isTyping: z.boolean().describe("whether it typed within the last 3 s"),
  isYou: z.boolean(),
  shareId: z.string().optional().describe("of a guest: the share link; guests are not told"),
});
export type SessionViewer = z.infer<typeof SessionViewer>;

/** Characters of a guest's name. */
const MAX_NAME_LENGTH = 32;

/** The name that a guest chose, as one short line without invisible characters or ones that affect the text around them. */
export const GuestName = z
  .string()
  .max(256)
  .transform((text) => {
    const line = text.normalize("NFC").replace(/\s+/gu, " ").replace(/\p{C}/gu, "");
    const plain = line.replace(/(\p{M}{2})\p{M}+/gu, "$1").trim();
    return [...plain].slice(0, MAX_NAME_LENGTH).join("").trim();
  });
