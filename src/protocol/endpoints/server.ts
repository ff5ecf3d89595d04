import { z } from "zod";
import { AuditPage, AuditQuery } from "../schemas/audit.ts";
import { SetCordon } from "../schemas/remote.ts";
import { Usage } from "../schemas/usage.ts";
import { endpointsWith, json, media, Success } from "./endpoint.ts";
import { healthEndpoint, probe } from "./health.ts";

const server = endpointsWith({ tag: "server", need: "accounts:manage" });
const readiness = endpointsWith({
  ...{ tag: "server", need: "open", limit: "none", host: true },
  errors: ["host_unreachable", "shutting_down", "starting"],
});

export const serverEndpoints = {
  listClients: server.get("/api/clients", "Connected clients of /ws", {
    need: "clients:view",
    reply: json(
      z.array(
        z.object({
          id: z.int(),
          user: z.string(),
          client: z.string().optional(),
          version: z.string().optional(),
          connectedAt: z.string(),
          address: z.string().optional(),
          subscriptions: z.array(z.string()),
        }),
      ),
    ),
  }),
  testNotification: server.post("/api/test-notification", "Send a test notification to your own clients", {
    need: "account:use",
    reply: json(
      z.object({
        success: z.literal(true),
        message: z.string(),
        event: z.object({
          type: z.literal("test-notification"),
          ...{ timestamp: z.string(), sessionId: z.string(), sessionName: z.string() },
          ...{ message: z.string(), title: z.string(), body: z.string() },
        }),
      }),
    ),
  }),
  ...healthEndpoint,
  livez: probe.get("/livez", "Whether the process works", {
    reply: media("text/plain; charset=utf-8", "ok"),
  }),
  readyz: readiness.get("/readyz", "Whether the server takes requests, for probes", {
    reply: media("text/plain; charset=utf-8", "ok"),
  }),
  ready: readiness.get(
    "/api/ready",
    "Whether the server takes requests: 503 while it starts or drains, or has no session host",
    {
      reply: json(z.object({ status: z.literal("ready") })),
    },
  ),
  metrics: probe.get("/metrics", "Prometheus metrics", {
    need: "metrics:view",
    reply: media("text/plain; version=0.0.4; charset=utf-8", "Prometheus text format"),
  }),
  openapi: server.get("/api/openapi.json", "This description", {
    need: "open",
    reply: json(z.record(z.string(), z.unknown())),
  }),
  cordonServer: server.post("/api/cordon", "Stop new sessions on this server, or allow them again", {
    need: "servers:cordon",
    body: SetCordon,
    reply: json(Success.extend({ machine: z.string(), cordoned: z.boolean() })),
    errors: ["disk_failed"],
  }),
  readAudit: server.get(
    "/api/audit",
    "The audit log of this server, or of all HQs that share a registry, newest first",
    {
      need: "audit:view",
      query: AuditQuery,
      reply: json(AuditPage),
      errors: ["forbidden", "invalid_request", "not_found"],
    },
  ),
  readUsage: server.get("/api/usage", "How much of what is limited each user has, at this server or HQ", {
    reply: json(Usage),
    errors: ["forbidden"],
  }),
};
