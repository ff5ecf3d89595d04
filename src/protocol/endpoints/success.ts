import { z } from "zod";

/** How old clients are told that something was done; further members say what. */
export const Success = z.object({ success: z.literal(true) });
