import { setTimeout as sleep } from "node:timers/promises";
import type { Peer } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage } from "../lib/stage.ts";
import type { ViewerPlan } from "../lib/viewer-plan.ts";
import type { Workshop } from "../lib/workshop.ts";

const FLOOD_MIB = 1024;
const PREVIEWS = 20;
/** Of all previews together: each is requested once a second. */
const ASK_EVERY_MS = 50;

/** The cost of previews beside a flood: a viewer receives 1 GiB while the screens of other sessions are requested. */
export const previews: Scenario = {
  name: "previews",
  title: `${FLOOD_MIB} MiB to one viewer beside the previews of ${PREVIEWS} other sessions, each once a second`,
  isOptional: true,
  metrics: [
    { name: "throughput", unit: "MiB/s", digits: 1 },
    { name: "CPU", unit: "s/GiB", digits: 2 },
    { name: "peak memory", unit: "MiB", digits: 0 },
    { name: "preview p50", unit: "ms", digits: 1 },
    { name: "preview p99", unit: "ms", digits: 1 },
  ],
  takes: (peer) => peer.kind === "server" && peer.keepsSessions,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") throw new Error(`${peer.name} has no previews`);
  await using stage = await Stage.open(peer, workshop);
  const still = workshop.echo();
  const plans = Array.from({ length: PREVIEWS }, () => stage.server.session(still.words).first());
  for (const plan of plans) await (await stage.viewers.open(plan, still.expectation)).wait("ready");
  const flood = workshop.load("plain", FLOOD_MIB);
  const viewers = await stage.audience(flood, 1, peer.sharesSessions);
  const isOver = new AbortController();
  const asking = previewTimes(plans, isOver.signal);
  const { seconds, cpuSeconds } = await stage.perform(viewers, peer.sharesSessions);
  isOver.abort();
  const times = await asking;
  return {
    throughput: flood.bytes / MIB / seconds,
    CPU: (cpuSeconds * 1024 * MIB) / flood.bytes,
    "peak memory": stage.group.peakBytes() / MIB,
    "preview p50": percentile(times, 50),
    "preview p99": percentile(times, 99),
  };
}

/** In ms, of one preview at a time. */
async function previewTimes(plans: readonly ViewerPlan[], signal: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; !signal.aborted; turn++) {
    const plan = plans[turn % plans.length];
    if (plan?.speech.kind !== "v3") throw new Error("only sessions of v3 have previews");
    const began = performance.now();
    const answer = await fetch(`http://127.0.0.1:${plan.port}/api/sessions/${plan.speech.sessionId}/buffer`);
    if (!answer.ok) throw new Error(`a preview was refused: ${answer.status}`);
    await answer.arrayBuffer();
    times.push(performance.now() - began);
    await sleep(ASK_EVERY_MS);
  }
  return times;
}
