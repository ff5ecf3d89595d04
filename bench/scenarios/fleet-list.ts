import { FleetStage, type ListTime } from "../lib/fleet-stage.ts";
import type { Peer } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Metric, Scenario, Values } from "../lib/scenario.ts";
import { MIB } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

const SIZE = { remotes: 200, sessionsEach: 50 };
const WARM_UP_LISTS = 50;
/** The interval of health checks, so that the time includes one. */
const WATCH_MS = 15_000;
/** The rate of fleet-steady. */
const EVENTS = 1_250;
/** The interval of health checks and the timeout of one; then the hanging remote is removed. */
const REMOVAL_TIMEOUT_MS = 25_000;

const PHASES = ["quiet", "changing", "one hangs"] as const;

/** The list that every opened page of an HQ waits for. */
export const fleetList: Scenario = {
  name: "fleet-list",
  title: `GET /api/sessions of an HQ with ${SIZE.remotes} remotes of ${SIZE.sessionsEach} sessions: nothing happens; ${EVENTS} events in ${WATCH_MS / 1000} s; a remote hangs, until it is removed`,
  isOptional: false,
  metrics: [
    ...PHASES.flatMap((phase): Metric[] => [
      { name: `${phase}: p50`, unit: "ms", digits: 1 },
      { name: `${phase}: p99`, unit: "ms", digits: 1 },
    ]),
    { name: "size", unit: "MiB", digits: 2 },
  ],
  takes: (peer) => peer.kind === "server" && peer.headquarters !== undefined,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  await using stage = await FleetStage.open(peer, workshop, SIZE);
  await stage.fill();
  let warmUp = 0;
  await stage.times(() => ++warmUp > WARM_UP_LISTS);
  const quiet = await stage.times(after(WATCH_MS));
  const [changing] = await Promise.all([
    stage.times(after(WATCH_MS)),
    stage.simulator.stir(EVENTS, WATCH_MS),
  ]);
  const hanging = await untilRemoved(stage);
  const size =
    percentile(
      quiet.map(({ bytes }) => bytes),
      50,
    ) / MIB;
  return {
    ...values("quiet", quiet),
    ...values("changing", changing),
    ...values("one hangs", hanging),
    size,
  };
}

async function untilRemoved(stage: FleetStage): Promise<readonly ListTime[]> {
  await stage.simulator.hang();
  let isRemoved = false;
  const removed = stage
    .until(
      ({ remotes }) => remotes < SIZE.remotes,
      REMOVAL_TIMEOUT_MS,
      "the removal of the remote that hangs",
    )
    .finally(() => {
      isRemoved = true;
    });
  const [times] = await Promise.all([stage.times(() => isRemoved), removed]);
  return times;
}

function after(ms: number): () => boolean {
  const end = performance.now() + ms;
  return () => performance.now() >= end;
}

function values(phase: (typeof PHASES)[number], times: readonly ListTime[]): Values {
  const all = times.map(({ ms }) => ms);
  return { [`${phase}: p50`]: percentile(all, 50), [`${phase}: p99`]: percentile(all, 99) };
}
