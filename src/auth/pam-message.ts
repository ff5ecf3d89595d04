// What the server and the process that asks PAM for it say to each other.
import { z } from "zod";

export const PamQuestion = z.object({
  /** Comes back with the answer. */
  number: z.int(),
  username: z.string(),
  password: z.string(),
  /** From where somebody wants to log in, for PAM's rules and its log. */
  address: z.string().optional(),
});
export type PamQuestion = z.infer<typeof PamQuestion>;

export const PamAnswer = z.object({
  number: z.int(),
  /** PAM's, 0 for yes. */
  code: z.int(),
});
export type PamAnswer = z.infer<typeof PamAnswer>;
