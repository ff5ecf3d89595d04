import { setTimeout as sleep } from "node:timers/promises";
import { HEALTH_CHECK_INTERVAL_MS } from "../../../src/protocol/limits.ts";
import { nowUs } from "../../lib/clock.ts";
import { FleetStage } from "../../lib/fleet-stage.ts";
import type { Peer } from "../../lib/peer.ts";
import { percentile } from "../../lib/samples.ts";
import type { Scenario, Values } from "../../lib/scenario.ts";
import { MIB } from "../../lib/stage.ts";
import type { Workshop } from "../../lib/workshop.ts";

const SESSIONS_EACH = 20;
const LISTS = 30;

/** The cost of that many remotes for their HQ. */
export function scaleRemotes(remotes: number): Scenario {
  return {
    name: `scale-remotes-${remotes}`,
    title: `HQ with ${remotes} remotes of ${SESSIONS_EACH} sessions: until all are listed, between two health checks, and GET /api/sessions`,
    isOptional: true,
    metrics: [
      { name: "listed after", unit: "s", digits: 1 },
      { name: "peak memory", unit: "MiB", digits: 0 },
      { name: "CPU", unit: "% of a core", digits: 1 },
      { name: "list p50", unit: "ms", digits: 1 },
    ],
    takes: (peer) => peer.kind === "server" && peer.headquarters !== undefined,
    run: (peer, workshop) => run(remotes, peer, workshop),
  };
}

async function run(remotes: number, peer: Peer, workshop: Workshop): Promise<Values> {
  await using stage = await FleetStage.open(peer, workshop, { remotes, sessionsEach: SESSIONS_EACH });
  const beganUs = nowUs();
  await stage.fill();
  const listed = (nowUs() - beganUs) / 1e6;
  const cpuBefore = stage.group.cpuSeconds();
  await sleep(HEALTH_CHECK_INTERVAL_MS);
  const cpuSeconds = stage.group.cpuSeconds() - cpuBefore;
  let lists = 0;
  const times = await stage.times(() => ++lists > LISTS);
  return {
    "listed after": listed,
    "peak memory": stage.group.peakBytes() / MIB,
    CPU: (cpuSeconds / HEALTH_CHECK_INTERVAL_MS) * 100_000,
    "list p50": percentile(
      times.map(({ ms }) => ms),
      50,
    ),
  };
}
