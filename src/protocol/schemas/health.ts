import { z } from "zod";

/** Specification 2.6 and contract 2.6. `uptime` is in whole seconds. */
export const Health = z.object({
  status: z.literal("healthy"),
  uptime: z.int(),
  version: z.string(),
  sessions: z.int().describe("running ones"),
  unrecorded: z
    .int()
    .optional()
    .describe("running ones whose output is not being recorded, if there are any"),
  mode: z.enum(["standalone", "hq", "remote", "session-host"]),
  instanceId: z.string().describe("another one after every start; the same of all HQs that share a registry"),
  pid: z.int(),
  protocol: z.int().describe("revision of the frame protocol between our own processes"),
  timestamp: z.string(),
  remotes: z.int().optional().describe("on an HQ: the machines that are registered"),
  hqSessions: z.boolean().optional().describe("on an HQ: whether it has sessions of its own"),
  remoteId: z.string().optional().describe("on a remote: its id in the HQ's registry"),
});
export type Health = z.infer<typeof Health>;
