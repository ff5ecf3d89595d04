// The metrics of every server; docs/observability.md describes all. Those of a role or a feature are beside it.
import { readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Gate } from "../auth/gate.ts";
import { RequestMeter } from "../http/request-meter.ts";
import type { CordonState } from "../http/routes/session-routes.ts";
import type { Hub } from "../hub/hub.ts";
import { singleFlight } from "../lib/async/single-flight.ts";
import { Tally } from "../lib/data/tally.ts";
import { createMetrics, type Metrics } from "../metrics/metrics.ts";
import { createCaller } from "../protocol/client/caller.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { SessionStatus } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { SessionMeter } from "../sessions/session-meter.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { AuditLog } from "./auditing.ts";
import type { OwnSessions } from "./own-sessions.ts";
import type { Readiness } from "./readiness.ts";
import type { ServerParts } from "./server-context.ts";

/** `process`: as of createMetrics, without `ttyhq_`. */
function measureBuild(metrics: Metrics, build: { version: string; mode: string }, process = ""): void {
  const labels = { ...build, node: globalThis.process.version };
  metrics.gauge(`${process}build_info`, "Which program this is; always 1.", () => [[labels, 1]]);
}

function measureSessions(metrics: Metrics, backend: Pick<SessionBackend, "list">): void {
  // All gauges are read at once.
  const list = singleFlight(() => backend.list());
  metrics.gauge("sessions", "Sessions that are listed, by status.", async () => {
    const tally = new Tally("status").expecting(...SessionStatus.options.map((status) => [status]));
    for (const { status } of await list()) tally.add(status);
    return tally;
  });
  metrics.gauge(
    "recordings_incomplete",
    "Sessions with output that is not recorded, by reason.",
    async () => {
      const tally = new Tally("reason").expecting(["waiting"], ["stopped"]);
      for (const { recording } of await list()) if (recording !== undefined) tally.add(recording);
      return tally;
    },
  );
}

function measureHub(metrics: Metrics, hub: Hub): void {
  const { traffic, lags } = hub;
  const lagsOfNow = () => hub.clients.map(({ lagBytes }) => lagBytes);
  metrics.gauge("clients", "Open WebSocket connections.", () => hub.clients.length);
  metrics.gauge("viewers", "Subscriptions to sessions.", () => hub.viewers);
  metrics.gauge("sessions_watched", "Sessions with at least one subscription.", () => hub.watchedSessions);
  metrics.counter("websocket_frames_total", "Frames, by direction.", () => [
    [{ direction: "in" }, traffic.framesIn],
    [{ direction: "out" }, traffic.framesOut],
  ]);
  metrics.counter("websocket_bytes_total", "Bytes of frames, by direction.", () => [
    [{ direction: "in" }, traffic.bytesIn],
    [{ direction: "out" }, traffic.bytesOut],
  ]);
  metrics.counter("websocket_bad_frames_total", "Frames that could not be read.", () => traffic.badFrames);
  metrics.counter("clients_dropped_total", "Clients that were disconnected, by reason.", () => [
    [{ reason: "silent" }, traffic.droppedSilent],
    [{ reason: "unread" }, traffic.droppedUnread],
    [{ reason: "bad_frames" }, traffic.droppedBad],
  ]);
  metrics.counter("resyncs_total", "Screens that were sent in place of output.", () => traffic.resyncs);
  metrics.gauge("viewer_lag_max_bytes", "How far the slowest client is behind.", () =>
    Math.max(0, ...lagsOfNow()),
  );
  metrics.gauge("viewer_lag_sum_bytes", "How far all clients together are behind.", () =>
    lagsOfNow().reduce((sum, lag) => sum + lag, 0),
  );
  metrics.histogram(lags);
}

function measureRequests(metrics: Metrics, meter: RequestMeter, attempts: Gate["attempts"]): void {
  metrics.counter("http_requests_total", "Requests, by endpoint and class of status.", () => meter.requests);
  metrics.histogram(meter.durations);
  metrics.counter("rate_limited_total", "Requests refused for being too many, by limit.", () => [
    ...meter.limited,
    [{ limit: "failed_logins" }, attempts.refusals],
  ]);
}

function measureAudit(metrics: Metrics, audit: Pick<AuditLog, "counts" | "shippers">): void {
  const now = () => audit.counts;
  metrics.counter("audit_lines_total", "Lines written to the audit log.", () => now().written);
  metrics.counter("audit_lines_lost_total", "Lines of it that were not written.", () => now().lost);
  const shipped = (count: "shipped" | "dropped") => () =>
    audit.shippers.map(({ name, counts }) => [{ receiver: name }, counts[count]] as const);
  metrics.counter("audit_lines_shipped_total", "Lines that receivers took.", shipped("shipped"));
  metrics.counter("audit_lines_dropped_total", "Lines that receivers did not take.", shipped("dropped"));
}

/** Of the disk with the journals. */
function measureDisk(metrics: Metrics, { path }: Pick<ControlDir, "path">): void {
  const disk = singleFlight(() => statfs(path));
  metrics.gauge("disk_size_bytes", "Size of the disk with the control directory.", async () => {
    const { blocks, bsize } = await disk();
    return blocks * bsize;
  });
  metrics.gauge("disk_free_bytes", "Bytes that this user can still write there.", async () => {
    const { bavail, bsize } = await disk();
    return bavail * bsize;
  });
  metrics.gauge("disk_free_inodes", "Files that can still be made there.", async () => {
    const { files, ffree } = await disk();
    // Some file systems do not count inodes and report 0.
    return files === 0 ? [] : ffree;
  });
}

/** Of a server with sessions. */
export function measureOwn(
  metrics: Metrics,
  { cordon, meter, host }: Pick<OwnSessions, "meter" | "host"> & { readonly cordon: CordonState },
): void {
  metrics.gauge("cordoned", "Whether this server starts no new sessions: 1, or 0.", () => cordon.isCordoned);
  if (meter !== undefined) measureTerminals(metrics, meter);
  if (host === undefined) return;
  const caller = createCaller(host.send);
  const ask = singleFlight(() => caller.bytes(endpoints.metrics));
  metrics.other("host_up", "Whether the session host returned its metrics: 1, or 0.", async () =>
    new TextDecoder().decode(await ask()),
  );
}

/** Of the process that owns the terminals. */
function measureTerminals(metrics: Metrics, meter: SessionMeter): void {
  metrics.counter("sessions_started_total", "Programs that were started.", () => meter.started);
  metrics.counter("sessions_ended_total", "Programs that have ended.", () => meter.ended);
  metrics.counter("terminal_output_bytes_total", "Bytes that programs wrote.", () => meter.outputBytes);
  metrics.counter("terminal_input_bytes_total", "Bytes that were typed into them.", () => meter.inputBytes);
  metrics.histogram(meter.journalWrites);
  metrics.counter("journal_failures_total", "Times the disk took nothing.", () => meter.journalFailures);
  metrics.counter("journal_lost_bytes_total", "Bytes that no recording has.", () => meter.lostBytes);
  metrics.counter("journal_pauses_total", "Times a program was held back.", () => meter.journalPauses);
  metrics.counter(
    "out_of_memory_kills_total",
    "Processes that the kernel ended.",
    async () => (await memoryKills()) ?? [],
  );
  metrics.gauge("system_terminals", "Terminals of the whole machine.", () => openFileCount("nr"));
  metrics.gauge("system_terminals_limit", "Limit for terminals on the whole machine.", () =>
    openFileCount("max"),
  );
}

/** Rejects on systems without the file: the metric is left out. */
async function openFileCount(name: "nr" | "max"): Promise<number> {
  return Number(await readFile(`/proc/sys/kernel/pty/${name}`, "utf8"));
}

/** Prefix of a session host's process metrics, since one answer also has those of the server. */
const HOST = "host_";

/** `meter` counts the requests of the listeners. */
export function serverMetrics(
  parts: ServerParts & {
    readonly role: {
      readonly backend: SessionBackend;
      readonly readiness: Readiness;
      measure(metrics: Metrics): void;
    };
    readonly hub: Hub;
    readonly gate: Pick<Gate, "logins" | "attempts">;
    readonly audit: AuditLog;
  },
): { readonly metrics: Metrics; readonly meter: RequestMeter } {
  const { config, context, role, hub, gate, audit, controlDir } = parts;
  const metrics = createMetrics();
  const meter = new RequestMeter();
  measureBuild(metrics, { version: context.version, mode: config.role.kind });
  metrics.gauge(
    "ready",
    "Whether requests should come here: 1, or 0.",
    () => role.readiness.problem === undefined,
  );
  measureSessions(metrics, role.backend);
  measureHub(metrics, hub);
  measureRequests(metrics, meter, gate.attempts);
  metrics.counter("logins_total", "Logins, by method and result.", () => gate.logins);
  measureAudit(metrics, audit);
  measureDisk(metrics, controlDir);
  role.measure(metrics);
  return { metrics, meter };
}

export function hostMetrics({ meter }: { readonly meter: SessionMeter }, version: string): Metrics {
  const metrics = createMetrics({ process: HOST });
  measureBuild(metrics, { version, mode: "session-host" }, HOST);
  measureTerminals(metrics, meter);
  return metrics;
}

const GROUPS = "sys/fs/cgroup";

/**
 * Processes killed in the control group of this process and its programs since the group was created, otherwise on
 * the whole machine. `undefined` without a counter. `root`: the prefix of the kernel's files.
 */
export async function memoryKills(root = "/"): Promise<number | undefined> {
  const own = await textOf(join(root, "proc/self/cgroup"));
  for (const path of [...placesOf(own ?? ""), "proc/vmstat"]) {
    const [, count] = /^oom_kill (\d+)$/m.exec((await textOf(join(root, path))) ?? "") ?? [];
    if (count !== undefined) return Number(count);
  }
  return undefined;
}

/** Possible places of the group's counter: a container sees its own group at the top. */
function placesOf(own: string): readonly string[] {
  const [, old] = /^\d+:(?:\w+,)*memory(?:,\w+)*:(\/.*)$/m.exec(own) ?? [];
  if (old !== undefined) {
    return [old, "/"].map((group) => join(GROUPS, "memory", group, "memory.oom_control"));
  }
  const [, group = "/"] = /^0::(\/.*)$/m.exec(own) ?? [];
  return [group, "/"].map((each) => join(GROUPS, each, "memory.events"));
}

async function textOf(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(() => undefined);
}
