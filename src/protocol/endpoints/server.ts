import { z } from "zod";
import { Health } from "../schemas/health.ts";
import type { Endpoint } from "./endpoint.ts";

const probe = { tag: "server", access: "open", limit: "none", host: true } as const;

export const serverEndpoints = {
  listClients: {
    ...probe,
    access: "user",
    limit: "api",
    host: false,
    method: "get",
    path: "/api/clients",
    summary: "Who is connected to /ws",
    reply: {
      status: 200,
      json: z.array(
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
    },
    errors: [],
  },
  testNotification: {
    ...probe,
    access: "user",
    limit: "api",
    host: false,
    method: "post",
    path: "/api/test-notification",
    summary: "Send the event test-notification to one's own clients",
    reply: {
      status: 200,
      json: z.object({
        success: z.literal(true),
        message: z.string(),
        event: z.object({
          type: z.literal("test-notification"),
          ...{ timestamp: z.string(), sessionId: z.string(), sessionName: z.string() },
          ...{ message: z.string(), title: z.string(), body: z.string() },
        }),
      }),
    },
    errors: [],
  },
  health: {
    ...probe,
    method: "get",
    path: "/api/health",
    summary: "How the server is",
    reply: { status: 200, json: Health },
    errors: ["host_unreachable"],
  },
  livez: {
    ...probe,
    method: "get",
    path: "/livez",
    summary: "Whether the process works",
    reply: { status: 200, media: "text/plain; charset=utf-8", description: "ok" },
    errors: [],
  },
  readyz: {
    ...probe,
    method: "get",
    path: "/readyz",
    summary: "Whether requests should come here, for probes",
    reply: { status: 200, media: "text/plain; charset=utf-8", description: "ok" },
    errors: ["host_unreachable", "shutting_down"],
  },
  ready: {
    ...probe,
    method: "get",
    path: "/api/ready",
    summary: "Whether requests should come here: 503 while the server is draining, or has no session host",
    reply: { status: 200, json: z.object({ status: z.literal("ready") }) },
    errors: ["host_unreachable", "shutting_down"],
  },
  metrics: {
    ...probe,
    access: "user",
    method: "get",
    path: "/metrics",
    summary: "Prometheus metrics",
    reply: {
      status: 200,
      media: "text/plain; version=0.0.4; charset=utf-8",
      description: "Prometheus text format",
    },
    errors: [],
  },
  openapi: {
    ...probe,
    limit: "api",
    host: false,
    method: "get",
    path: "/api/openapi.json",
    summary: "This description",
    reply: { status: 200, json: z.record(z.string(), z.unknown()) },
    errors: [],
  },
} as const satisfies Record<string, Endpoint>;
