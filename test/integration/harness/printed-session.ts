import type { z } from "zod";
import { SessionRecord } from "../../../src/protocol/schemas/session.ts";

/** A session in the command line's output: with one name for each field. */
export const PrintedSession = SessionRecord.omit({ sessionId: true, startedAt: true, workingDir: true });
export type PrintedSession = z.infer<typeof PrintedSession>;
