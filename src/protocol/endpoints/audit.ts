import { AuditPage, AuditQuery } from "../schemas/audit.ts";
import type { Endpoint } from "./endpoint.ts";

export const auditEndpoints = {
  readAudit: {
    ...{ tag: "server", access: "user", limit: "api", host: false },
    method: "get",
    path: "/api/audit",
    summary: "The audit log of this server, newest first",
    query: AuditQuery,
    reply: { status: 200, json: AuditPage },
    errors: ["forbidden", "invalid_request", "not_found"],
  },
} as const satisfies Record<string, Endpoint>;
