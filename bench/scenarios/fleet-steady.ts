import { setTimeout as sleep } from "node:timers/promises";
import { FleetStage } from "../lib/fleet-stage.ts";
import type { Peer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

const SIZE = { remotes: 200, sessionsEach: 50 };
const MINUTE_MS = 60_000;
const MINUTES = 12;
const EVENTS_A_MINUTE = 5_000;
const SAMPLE_MS = 1_000;

/** The long-term cost of a fleet for its HQ. */
export const fleetSteady: Scenario = {
  name: "fleet-steady",
  title: `HQ with ${SIZE.remotes} remotes of ${SIZE.sessionsEach} sessions: the health checks and ${EVENTS_A_MINUTE} events in each of ${MINUTES} minutes`,
  isOptional: true,
  metrics: [
    { name: "highest memory, first minute", unit: "MiB", digits: 0 },
    { name: "second third", unit: "MiB", digits: 0 },
    { name: "last third", unit: "MiB", digits: 0 },
    { name: "CPU", unit: "% of a core", digits: 1 },
    { name: "remotes lost", unit: `of ${SIZE.remotes}`, digits: 0 },
  ],
  takes: (peer) => peer.kind === "server" && peer.headquarters !== undefined,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  await using stage = await FleetStage.open(peer, workshop, SIZE);
  await stage.fill();
  const cpuBefore = stage.group.cpuSeconds();
  const minutes: number[] = [];
  while (minutes.length < MINUTES) minutes.push(await highest(stage));
  const cpuSeconds = stage.group.cpuSeconds() - cpuBefore;
  const most = (from: number, to: number): number => Math.max(...minutes.slice(from, to)) / MIB;
  return {
    "highest memory, first minute": most(0, 1),
    "second third": most(MINUTES / 3, (2 * MINUTES) / 3),
    "last third": most((2 * MINUTES) / 3, MINUTES),
    CPU: (cpuSeconds / ((MINUTES * MINUTE_MS) / 1000)) * 100,
    "remotes lost": SIZE.remotes - (await stage.known()).remotes,
  };
}

/** Peak resident bytes during a minute of events: garbage piles up between two collections. */
async function highest({ simulator, group }: FleetStage): Promise<number> {
  let isOver = false;
  const stirring = simulator.stir(EVENTS_A_MINUTE, MINUTE_MS).finally(() => {
    isOver = true;
  });
  let bytes = 0;
  while (!isOver) {
    bytes = Math.max(bytes, group.residentBytes());
    await sleep(SAMPLE_MS);
  }
  await stirring;
  return bytes;
}
