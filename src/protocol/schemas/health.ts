import { z } from "zod";

/** Specification 2.6 and contract 2.6. `uptime` is in whole seconds. */
export const Health = z.object({
  status: z.literal("healthy"),
  uptime: z.int(),
  version: z.string(),
  sessions: z.int().describe("running sessions"),
  unrecorded: z.int().optional().describe("running sessions that are not being recorded, if any"),
  cordoned: z.boolean().optional().describe("true while the server starts no new sessions"),
  mode: z.enum(["standalone", "hq", "remote", "session-host"]),
  instanceId: z.string().describe("new at every start; the same for all HQs that share a registry"),
  pid: z.int(),
  protocol: z.int().describe("revision of the frame protocol between our own processes"),
  timestamp: z.string(),
  load: z.number().optional().describe("load average of the machine over the last minute, per CPU"),
  remotes: z.int().optional().describe("on an HQ: number of registered remotes"),
  hqSessions: z.boolean().optional().describe("on an HQ: whether it has local sessions"),
  remoteId: z.string().optional().describe("on a remote: its id in the HQ's registry"),
});
export type Health = z.infer<typeof Health>;
