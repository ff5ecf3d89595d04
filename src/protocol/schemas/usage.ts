import { z } from "zod";

/** Resources that the service limits for each user. */
export const LIMITED = ["connections", "shares", "logins", "apiTokens"] as const;
export type Limited = (typeof LIMITED)[number];

const Limit = z.object({
  perUser: z.int(),
  inTotal: z.int().optional().describe("of all users together; absent: not limited"),
});
export type Limit = z.infer<typeof Limit>;

const Count = z.int().nonnegative();

const UserUsage = z.object({
  user: z.string(),
  running: Count.describe("sessions that run"),
  ended: Count.describe("ended sessions with their recordings"),
  outputBytes: Count.describe("output of these sessions; nearly what their recordings take on the disk"),
  connections: Count.describe("WebSockets, without those of guests"),
  shares: Count.describe("valid share links"),
  logins: Count,
  apiTokens: Count,
});
export type UserUsage = z.infer<typeof UserUsage>;

/** The reply of GET /api/usage. */
export const Usage = z.object({
  users: z.array(UserUsage).describe("users with at least one of these, sorted by name"),
  limits: z
    .partialRecord(z.enum(LIMITED), Limit)
    .describe("what is not in it is not limited, as everything without login"),
  perMinute: z.object({
    apiCalls: z.int().optional().describe("of a user; absent: not limited"),
    sessions: z.int().optional().describe("that a user starts; absent: not limited"),
  }),
  maxRecordingBytes: z.int().describe("of a session"),
});
export type Usage = z.infer<typeof Usage>;
