// Apart from the server's other endpoints: short commands need none of their schemas.
import { MAX_HEALTH_BYTES } from "../limits.ts";
import { Health } from "../schemas/health.ts";
import { endpointsWith, json } from "./endpoint.ts";

export const probe = endpointsWith({ tag: "server", need: "open", limit: "none", host: true });

export const healthEndpoint = {
  health: probe.get("/api/health", "The state of the server", {
    reply: json(Health),
    maxReplyBytes: MAX_HEALTH_BYTES,
    errors: ["host_unreachable"],
  }),
};
