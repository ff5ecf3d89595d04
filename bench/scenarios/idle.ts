import { setTimeout as sleep } from "node:timers/promises";
import type { Peer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage } from "../lib/stage.ts";
import type { Workshop } from "../lib/workshop.ts";

const WATCH_S = 10;
/** Sessions that are created in parallel. */
const STARTS_AT_ONCE = 10;
/** Lets the server finish its work after the last session. */
const SETTLE_MS = 2_000;

export type Crowd = {
  readonly sessions: number;
  /** Whether each session has a viewer; peers whose sessions need viewers have them anyway. */
  readonly isWatched: boolean;
  readonly isOptional: boolean;
};

/** The cost of idle sessions. */
export function idle(crowd: Crowd): Scenario {
  const viewers = crowd.isWatched ? " with a viewer each" : "";
  return {
    name: `idle-${crowd.sessions}`,
    title: `${crowd.sessions} idle sessions${viewers}: memory beyond the programs' own, CPU over ${WATCH_S} s`,
    isOptional: crowd.isOptional,
    metrics: [
      { name: "resident", unit: "MiB", digits: 0 },
      { name: "proportional", unit: "MiB", digits: 0 },
      { name: "added", unit: "MiB", digits: 1 },
      { name: "CPU", unit: "% of a core", digits: 2 },
    ],
    takes: (peer) => peer.kind === "server",
    run: (peer, workshop) => run(crowd, peer, workshop),
  };
}

async function run(crowd: Crowd, peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") return {};
  await using stage = await Stage.open(peer, workshop);
  const work = workshop.echo();
  const before = stage.group.residentBytes();
  const startOne = async (): Promise<void> => {
    const plan = stage.server.session(work.words).first();
    if (peer.keepsSessions && !crowd.isWatched) await stage.viewers.create(plan);
    else await (await stage.viewers.open(plan, work.expectation)).wait("ready");
  };
  for (let made = 0; made < crowd.sessions; made += STARTS_AT_ONCE) {
    const some = Math.min(STARTS_AT_ONCE, crowd.sessions - made);
    await Promise.all(Array.from({ length: some }, startOne));
  }
  await sleep(SETTLE_MS);
  const cpuBefore = stage.group.cpuSeconds();
  await sleep(WATCH_S * 1000);
  const cpuSeconds = stage.group.cpuSeconds() - cpuBefore;
  const resident = stage.group.residentBytes();
  return {
    resident: resident / MIB,
    proportional: stage.group.proportionalBytes() / MIB,
    added: (resident - before) / MIB,
    CPU: (cpuSeconds / WATCH_S) * 100,
  };
}
