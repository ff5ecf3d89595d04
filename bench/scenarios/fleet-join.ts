import { setTimeout as sleep } from "node:timers/promises";
import { HEALTH_CHECK_INTERVAL_MS, HEALTH_CHECK_TIMEOUT_MS } from "../../src/protocol/limits.ts";
import { nowUs } from "../lib/clock.ts";
import { Departures } from "../lib/departures.ts";
import { FleetStage, JOIN_TIMEOUT_MS } from "../lib/fleet-stage.ts";
import type { Peer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

const SIZE = { remotes: 1_000, sessionsEach: 50 };
/** Until the health check after a possibly running one has decided about all remotes. */
const NEXT_CHECK_MS = HEALTH_CHECK_INTERVAL_MS + HEALTH_CHECK_TIMEOUT_MS + 1_000;

/** All at once, as after a restart of the HQ. */
export const fleetJoin: Scenario = {
  name: "fleet-join",
  title: `${SIZE.remotes} remotes of ${SIZE.sessionsEach} sessions register at once, then a round of health checks`,
  isOptional: false,
  metrics: [
    { name: "all registered", unit: "s", digits: 1 },
    { name: "all sessions listed", unit: "s", digits: 1 },
    { name: "HQ's CPU until then", unit: "s", digits: 1 },
    { name: "HQ's memory, peak", unit: "MiB", digits: 0 },
    { name: "health check's CPU", unit: "s", digits: 1 },
    { name: "dropped", unit: `of ${SIZE.remotes}`, digits: 0 },
  ],
  takes: (peer) => peer.kind === "server" && peer.headquarters !== undefined,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  await using stage = await FleetStage.open(peer, workshop, SIZE);
  using departures = await Departures.watch(stage.hq.origin);
  const cpuBefore = stage.group.cpuSeconds();
  const beganUs = nowUs();
  const seconds = (): number => (nowUs() - beganUs) / 1e6;
  const joining = stage.simulator.join(stage.hq.origin);
  await stage.until(({ remotes }) => remotes === SIZE.remotes, JOIN_TIMEOUT_MS, "all remotes registered");
  const registered = seconds();
  await stage.until(({ sessions }) => sessions === stage.sessions, JOIN_TIMEOUT_MS, "all sessions listed");
  const listed = seconds();
  await joining;
  const cpuJoined = stage.group.cpuSeconds();
  await check(stage);
  await sleep(NEXT_CHECK_MS);
  return {
    "all registered": registered,
    "all sessions listed": listed,
    "HQ's CPU until then": cpuJoined - cpuBefore,
    "HQ's memory, peak": stage.group.peakBytes() / MIB,
    "health check's CPU": stage.group.cpuSeconds() - cpuJoined,
    dropped: departures.count,
  };
}

/** Throws Error if the lists differ from the health's counts. */
async function check(stage: FleetStage): Promise<void> {
  const { remotes, sessions } = await stage.remotes();
  const listed = await stage.listed();
  if (remotes === SIZE.remotes && sessions === stage.sessions && listed === stage.sessions) return;
  throw new Error(`${remotes} remotes with ${sessions} sessions, ${listed} sessions in the list`);
}
