import { availableParallelism, loadavg } from "node:os";
import { singleFlight } from "../lib/async/single-flight.ts";
import { PROTOCOL_REVISION } from "../protocol/frame/frame.ts";
import type { Health } from "../protocol/schemas/health.ts";
import type { SessionBackend } from "../sessions/backend.ts";

type Constant = Pick<Health, "version" | "mode" | "instanceId">;

/** `ofRole`: further members, which take precedence. The sessions are listed unless it has their number. */
export function healthOf(
  backend: Pick<SessionBackend, "list">,
  { version, mode, instanceId }: Constant,
  ofRole: () => Partial<Health> = () => ({}),
): () => Promise<Health> {
  const started = performance.now();
  // Requests are unlimited, and the list may be long.
  const counts = singleFlight(() => countsOf(backend));
  // Reading it anew would open the files of the control group each time.
  const cores = availableParallelism();
  return async () => {
    const own = ofRole();
    return {
      ...{ status: "healthy", version, mode, instanceId, pid: process.pid, protocol: PROTOCOL_REVISION },
      uptime: Math.floor((performance.now() - started) / 1000),
      ...(own.sessions === undefined ? await counts() : { sessions: own.sessions }),
      timestamp: new Date().toISOString(),
      load: machineLoad(cores),
      ...own,
    };
  };
}

function machineLoad(cores: number): number {
  const [lastMinute = 0] = loadavg();
  return Math.round((lastMinute / cores) * 100) / 100;
}

async function countsOf(
  backend: Pick<SessionBackend, "list">,
): Promise<Pick<Health, "sessions" | "unrecorded">> {
  const running = (await backend.list()).filter(({ status }) => status === "running");
  const unrecorded = running.filter(({ recording }) => recording !== undefined).length;
  return { sessions: running.length, ...(unrecorded === 0 ? {} : { unrecorded }) };
}
