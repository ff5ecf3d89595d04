// Apart from the server's other endpoints: short commands need none of their schemas.
import { Health } from "../schemas/health.ts";
import { endpointsWith, json } from "./endpoint.ts";

export const probe = endpointsWith({ tag: "server", need: "open", limit: "none", host: true });

export const healthEndpoint = {
  health: probe.get("/api/health", "The state of the server", {
    reply: json(Health),
    errors: ["host_unreachable"],
  }),
};
