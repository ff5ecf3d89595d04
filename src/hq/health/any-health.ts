import { z } from "zod";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";

/** The health of any server that keeps the specification: members beyond it may be missing. */
const AnyHealth = z.looseObject({
  instanceId: z.string().optional().catch(undefined),
  mode: z.string().optional().catch(undefined),
  remoteId: z.string().optional().catch(undefined),
  uptime: z.number().optional().catch(undefined),
});

export const anyHealth = { ...endpoints.health, reply: { status: 200, json: AnyHealth } } as const;
