// What /metrics tells of a server, and of a session host.
import type { Gate } from "../auth/gate.ts";
import type { Config } from "../config/config.ts";
import { RequestMeter } from "../http/request-meter.ts";
import type { Hub } from "../hub/hub.ts";
import { createMetrics, type Metrics } from "../metrics/metrics.ts";
import type { SessionMeter } from "../sessions/session-meter.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { AuditLog } from "./auditing.ts";
import type { Role } from "./role.ts";
import {
  measureAudit,
  measureBuild,
  measureDisk,
  measureHub,
  measureLogins,
  measureReadiness,
  measureRequests,
  measureSessions,
  measureTerminals,
} from "./server-metrics.ts";

/** What a host says of its process has another name than what a server says of its own: one answer has both. */
const HOST = "host_";

/** `meter`: where the server's doors count what comes to them. */
export function serverMetrics(parts: {
  readonly config: Pick<Config, "role">;
  readonly version: string;
  readonly role: Pick<Role, "backend" | "measure" | "readiness">;
  readonly hub: Hub;
  readonly gate: Pick<Gate, "logins" | "attempts">;
  readonly audit: AuditLog;
  readonly controlDir: ControlDir;
}): { readonly metrics: Metrics; readonly meter: RequestMeter } {
  const { config, version, role, hub, gate, audit, controlDir } = parts;
  const metrics = createMetrics();
  const meter = new RequestMeter();
  measureBuild(metrics, { version, mode: config.role.kind });
  measureReadiness(metrics, role.readiness);
  measureSessions(metrics, role.backend);
  measureHub(metrics, hub);
  measureRequests(metrics, meter, gate.attempts);
  measureLogins(metrics, gate);
  measureAudit(metrics, audit);
  measureDisk(metrics, controlDir);
  role.measure(metrics);
  return { metrics, meter };
}

export function hostMetrics({ meter }: { readonly meter: SessionMeter }, version: string): Metrics {
  const metrics = createMetrics({ process: `ttyhq_${HOST}` });
  measureBuild(metrics, { version, mode: "session-host" }, HOST);
  measureTerminals(metrics, meter);
  return metrics;
}
